#include "client/session/wait_notice.h"

#include <optional>

namespace penstock {

Nanos WaitNotice::Tell(Nanos now) {
  if (tell_ == nullptr) return INT64_MAX;
  const std::optional<Nanos> since = window_->waiting_since();
  if (!since.has_value()) return now + kFirst;
  const std::string troubles = window_->DescribeTroubles();
  // What is wrong with files is known a little later than that a batch is missing, and is told as soon as it is.
  const bool told = *since == told_wait_ && (told_troubles_ || troubles.empty());
  const Nanos due = told ? told_at_ + kAgain : *since + kFirst;
  if (now < due) return due;
  const std::string text = window_->DescribeWait(kFirst);
  if (!text.empty()) {
    told_wait_ = *since;
    told_at_ = now;
    told_troubles_ = !troubles.empty();
    tell_(text + troubles);
  }
  return now + kAgain;
}

}  // namespace penstock
