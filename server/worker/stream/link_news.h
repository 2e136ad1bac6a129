// Tracks the carrier of a stream, and when to log that it has changed.
#ifndef PENSTOCK_SERVER_WORKER_STREAM_LINK_NEWS_H_
#define PENSTOCK_SERVER_WORKER_STREAM_LINK_NEWS_H_

#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/runtime/clock.h"

namespace penstock::worker {

// Pure. Not thread-safe.
class LinkNews {
 public:
  // A change that lasts this long was no trial (transport/lanes/lane_choice.h).
  static constexpr Nanos kLasts = 3 * kSecond;

  // Records the current MessageStream::carrier(). Returns whether it has changed.
  bool Seen(std::string_view carrier, Nanos now) {
    if (carrier == carrier_) return false;
    const bool changed = !carrier_.empty();
    if (!changed) told_ = carrier;
    carrier_ = carrier;
    since_ = now;
    return changed;
  }

  // Returns a message for the log; usually "".
  std::string News(Nanos now) {
    if (carrier_ == told_ || now - since_ < kLasts) return "";
    const std::string before = std::exchange(told_, carrier_);
    return absl::StrCat("rows go by ", carrier_, ", and before that by ", before);
  }

 private:
  std::string carrier_, told_;
  Nanos since_ = 0;
};

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_STREAM_LINK_NEWS_H_
