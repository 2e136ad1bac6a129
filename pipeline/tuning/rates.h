// The rates of the last windows, and whether others are better by more than both scatter.
#ifndef PENSTOCK_PIPELINE_TUNING_RATES_H_
#define PENSTOCK_PIPELINE_TUNING_RATES_H_

#include <cstddef>
#include <deque>

namespace penstock {

class Rates {
 public:
  // Keeps the last `most`.
  explicit Rates(size_t most) : most_(most) {}

  void Add(double rate);
  void Clear() { rates_.clear(); }
  size_t size() const { return rates_.size(); }
  // The median: a window in which a reader came or went counts for nothing.
  double typical() const;
  // Of the mean, relative to it: how far it may be off by chance; never 0, also where windows are few.
  double error() const;

  // How much larger this rate must be than `before`'s for the difference not to be chance: a factor above 1.
  double BarAgainst(const Rates& before) const;

 private:
  double mean() const;

  size_t most_;
  std::deque<double> rates_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_TUNING_RATES_H_
