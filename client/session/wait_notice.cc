#include "client/session/wait_notice.h"

#include <optional>

namespace penstock {

Nanos WaitNotice::Tell(Nanos now) {
  if (tell_ == nullptr) return INT64_MAX;
  const std::optional<Nanos> since = window_->waiting_since();
  if (!since.has_value()) return now + kFirst;
  const Nanos due = *since == told_wait_ ? told_at_ + kAgain : *since + kFirst;
  if (now < due) return due;
  const std::string text = window_->DescribeWait(kFirst);
  if (!text.empty()) {
    told_wait_ = *since;
    told_at_ = now;
    tell_(text);
  }
  return now + kAgain;
}

}  // namespace penstock
