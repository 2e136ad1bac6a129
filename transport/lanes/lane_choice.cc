#include "transport/lanes/lane_choice.h"

#include <algorithm>

namespace penstock::transport {

void LaneChoice::Begin(Nanos now) {
  began_ = now;
  full_ = 0;
  if (full_since_ >= 0) full_since_ = now;
  bytes_ = 0;
}

void LaneChoice::Full(Nanos now) {
  if (full_since_ < 0) full_since_ = now;
}

void LaneChoice::Free(Nanos now) {
  if (full_since_ >= 0) full_ += std::max<Nanos>(now - std::max(full_since_, began_), 0);
  full_since_ = -1;
}

void LaneChoice::Sent(uint64_t bytes, size_t ready, Nanos now) {
  if (began_ < 0) Begin(now);
  if (now < began_) return;  // the trial lane is settling
  bytes_ += bytes;
  const Nanos length = now - began_;
  if (length < kWindow) return;
  const Nanos full = full_ + (full_since_ >= 0 ? std::max<Nanos>(now - std::max(full_since_, began_), 0) : 0);
  const bool busy = static_cast<double>(full) >= kBusy * static_cast<double>(length);
  const double rate = static_cast<double>(bytes_) / static_cast<double>(length);
  Begin(now);
  if (trying_) {
    trying_ = false;
    if (rate >= kWorth * rate_before_) {
      pause_ = kFirstPause;
    } else {
      --lanes_;
      not_before_ = now + pause_;
      pause_ = std::min(2 * pause_, kLongestPause);
    }
  } else if (busy && lanes_ < ready && now >= not_before_) {
    trying_ = true;
    rate_before_ = rate;
    ++lanes_;
    Begin(now + kSettle);
  }
}

}  // namespace penstock::transport
