// Says what a trainer waits for, while it waits.
#ifndef PENSTOCK_CLIENT_SESSION_WAIT_NOTICE_H_
#define PENSTOCK_CLIENT_SESSION_WAIT_NOTICE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "client/session/window.h"

namespace penstock {

// For one thread.
class WaitNotice {
 public:
  // A wait is told of once it has lasted so long, and again in the course of it.
  static constexpr Nanos kFirst = 3 * kSecond;
  static constexpr Nanos kAgain = 5 * kSecond;

  // `tell` may be null: nobody is told.
  WaitNotice(std::shared_ptr<const Window> window, std::function<void(const std::string&)> tell)
      : window_(std::move(window)), tell_(std::move(tell)) {}

  // Tells what is to be told now. Returns when to call this again at the latest, were the trainer to begin to wait now.
  Nanos Tell(Nanos now);

 private:
  const std::shared_ptr<const Window> window_;
  const std::function<void(const std::string&)> tell_;
  Nanos told_wait_ = -1;  // when the wait that was told of last began
  Nanos told_at_ = 0;
  bool told_troubles_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SESSION_WAIT_NOTICE_H_
