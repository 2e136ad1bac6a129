// Waits for changes elsewhere: the only place where tests poll.
#ifndef PENSTOCK_TESTS_SUPPORT_WAIT_UNTIL_H_
#define PENSTOCK_TESTS_SUPPORT_WAIT_UNTIL_H_

#include <chrono>
#include <functional>
#include <thread>

namespace penstock::support {

// Polls `condition` until it holds. Returns false after `timeout`.
//
// For changes without a notification: in other processes (a log, a port file, a state that the coordinator returns on
// request) and in counters of other threads. If there is an event, wait for it instead. The 5 ms between two polls are
// short compared with such changes, and no test's outcome depends on them.
inline bool WaitUntil(const std::function<bool()>& condition,
                      std::chrono::milliseconds timeout = std::chrono::seconds(30)) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace penstock::support

#endif  // PENSTOCK_TESTS_SUPPORT_WAIT_UNTIL_H_
