// The rates of recent windows, and a test whether they exceed other rates by more than the scatter of both.
#ifndef PENSTOCK_PIPELINE_TUNING_RATES_H_
#define PENSTOCK_PIPELINE_TUNING_RATES_H_

#include <cstddef>
#include <deque>

namespace penstock::tuning {

class Rates {
 public:
  // Keeps at most the last `most` rates.
  explicit Rates(size_t most) : most_(most) {}

  void Add(double rate);
  void Clear() { rates_.clear(); }
  size_t size() const { return rates_.size(); }
  // Returns the median, or 0 without rates. Single windows in which a reader joined or left do not affect it.
  double typical() const;
  // Returns the relative standard error of the mean, at least 0.01. Returns 0.01 for fewer than two rates.
  double error() const;

  // Returns the factor by which these rates must exceed `before` to count as better: 1 plus twice the error of both, at
  // least 1.03.
  double BarAgainst(const Rates& before) const;

 private:
  double mean() const;

  size_t most_;
  std::deque<double> rates_;
};

}  // namespace penstock::tuning

#endif  // PENSTOCK_PIPELINE_TUNING_RATES_H_
