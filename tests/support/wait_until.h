// Waiting for what happens elsewhere: the one place where tests look at something again and again.
#ifndef PENSTOCK_TESTS_SUPPORT_WAIT_UNTIL_H_
#define PENSTOCK_TESTS_SUPPORT_WAIT_UNTIL_H_

#include <chrono>
#include <functional>
#include <thread>

namespace penstock {

// Asks `condition` again and again until it holds. False after `timeout`.
//
// For what tells nobody here when it happens: other processes (a log, a port file, a state that the coordinator gives
// when asked) and counters of threads that are not the test's. Where there is an event, wait for that. 5 ms between two
// looks are little beside what is waited for, and no test's outcome hangs on them.
inline bool WaitUntil(const std::function<bool()>& condition,
                      std::chrono::milliseconds timeout = std::chrono::seconds(30)) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace penstock

#endif  // PENSTOCK_TESTS_SUPPORT_WAIT_UNTIL_H_
