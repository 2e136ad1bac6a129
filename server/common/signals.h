// Delivers SIGTERM and SIGINT as calls on a separate thread, outside of signal handlers.
#ifndef PENSTOCK_SERVER_COMMON_SIGNALS_H_
#define PENSTOCK_SERVER_COMMON_SIGNALS_H_

#include <functional>
#include <thread>

namespace penstock::server {

// Blocks SIGTERM, SIGINT and SIGUSR2 for the calling thread and for all threads that it starts. The destructor of
// SignalWaiter uses SIGUSR2 to end the waiting thread. Call this function first in main(). A thread that already exists
// would receive a signal in place of a waiter, and the signal would end the process.
void BlockSignals();

// Receives SIGTERM and SIGINT with sigwait(3). If BlockSignals() was not called, it blocks them itself, for threads
// from now on. The first signal calls `on_first` (drain), the second `on_second` (quit at once); later ones do nothing.
// Its thread calls both, one after another, so `on_first` must return soon. The signals stay blocked after destruction.
class SignalWaiter {
 public:
  SignalWaiter(std::function<void()> on_first, std::function<void()> on_second);
  ~SignalWaiter();
  SignalWaiter(const SignalWaiter&) = delete;
  SignalWaiter& operator=(const SignalWaiter&) = delete;

 private:
  void Run();

  const std::function<void()> on_first_, on_second_;
  std::thread thread_;
};

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_COMMON_SIGNALS_H_
