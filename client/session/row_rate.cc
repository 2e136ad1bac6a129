#include "client/session/row_rate.h"

#include <algorithm>

namespace penstock::client {
namespace {

constexpr Nanos kOver = 5 * kSecond;

}  // namespace

void RowRate::Add(Nanos now, uint64_t rows) {
  if (!steps_.empty() && rows <= steps_.back().rows) return;
  steps_.push_back({now, rows});
  while (steps_.size() > 2 && steps_[1].at <= now - kOver) steps_.pop_front();
}

double RowRate::PerSecond(Nanos now) const {
  if (steps_.size() < 2) return 0;
  const Nanos took = steps_.back().at - steps_.front().at;
  const Nanos usual = took / static_cast<Nanos>(steps_.size() - 1);
  const Nanos late = std::max<Nanos>(0, now - steps_.back().at - usual);
  const double seconds = std::max(1e-3, static_cast<double>(took + late) / kSecond);
  return static_cast<double>(steps_.back().rows - steps_.front().rows) / seconds;
}

}  // namespace penstock::client
