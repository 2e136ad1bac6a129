#include "client/session/wait_notice.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/session/notice_times.h"

namespace penstock::client {

Nanos WaitNotice::Tell(Nanos now) {
  if (report_ == nullptr) return INT64_MAX;
  const Window::Wait wait = window_->CurrentWait();
  if (reported_.has_value() && reported_->step != wait.step) {
    report_(absl::StrCat("rows arrive again after ", (now - reported_->since) / kSecond, " s"));
    reported_.reset();
  }
  // A wait that begins now is reported at this time at the earliest.
  const Nanos soonest = now + kFirstNotice;
  if (!wait.since.has_value()) return soonest;
  if (reported_.has_value()) reported_->since = *wait.since;
  const Nanos age = now - *wait.since;
  // The coordinator names an unreadable file some seconds after rows are missing: report it at once.
  const bool news = reported_.has_value() && wait.files && !reported_->files;
  const Nanos due = NextNotice(reported_.has_value() ? reported_->age : 0);
  if (age < due && !news) return std::min(soonest, *wait.since + due);
  const std::string text = window_->DescribeWait(kFirstNotice);
  if (!text.empty()) {
    report_(text);
    reported_ = Reported{wait.step, *wait.since, age, wait.files};
  }
  return soonest;
}

}  // namespace penstock::client
