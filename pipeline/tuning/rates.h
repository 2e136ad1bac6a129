// The rates of recent windows, and a test whether other rates are better by more than the scatter of both.
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
  // Returns the median, which ignores single windows in which a reader joined or left.
  double typical() const;
  // Returns the relative standard error of the mean, with a lower bound above 0, even for few windows.
  double error() const;

  // Returns the factor above 1 by which this rate must exceed `before`'s to rule out chance.
  double BarAgainst(const Rates& before) const;

 private:
  double mean() const;

  size_t most_;
  std::deque<double> rates_;
};

}  // namespace penstock::tuning

#endif  // PENSTOCK_PIPELINE_TUNING_RATES_H_
