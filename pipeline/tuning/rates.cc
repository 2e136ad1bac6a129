#include "pipeline/tuning/rates.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace penstock::tuning {
namespace {

// A smaller gain does not justify a change.
constexpr double kLeastGain = 0.03;
// Lower bound of the error of a mean of few windows.
constexpr double kLeastError = 0.01;

}  // namespace

void Rates::Add(double rate) {
  rates_.push_back(rate);
  if (rates_.size() > most_) rates_.pop_front();
}

double Rates::mean() const {
  double sum = 0;
  for (const double rate : rates_) sum += rate;
  return rates_.empty() ? 0 : sum / static_cast<double>(rates_.size());
}

double Rates::typical() const {
  if (rates_.empty()) return 0;
  std::vector<double> sorted(rates_.begin(), rates_.end());
  std::sort(sorted.begin(), sorted.end());
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

double Rates::error() const {
  const double middle = mean();
  if (rates_.size() < 2 || middle <= 0) return kLeastError;
  double squares = 0;
  for (const double rate : rates_) squares += (rate - middle) * (rate - middle);
  const double count = static_cast<double>(rates_.size());
  return std::max(kLeastError, std::sqrt(squares / (count - 1) / count) / middle);
}

double Rates::BarAgainst(const Rates& before) const {
  return 1 + std::max(kLeastGain, 2 * std::hypot(error(), before.error()));
}

}  // namespace penstock::tuning
