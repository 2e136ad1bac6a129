// SIGTERM and SIGINT as calls on a thread of their own, outside of any signal handler.
#ifndef PENSTOCK_SERVER_COMMON_SIGNALS_H_
#define PENSTOCK_SERVER_COMMON_SIGNALS_H_

#include <functional>
#include <thread>

namespace penstock {

// The first thing in main(): blocks the two signals for the thread that calls it and all that this one starts. A thread
// that was there before would take them in a waiter's place, and the process would die of them.
void BlockSignals();

// Takes the signals with sigwait(3); where BlockSignals() was not called it blocks them itself, for threads from now
// on. The first signal calls `on_first` (drain), the second one `on_second` (quit at once); later ones do nothing. Both
// are called on its thread, one after another, so `on_first` must return soon for the second signal to be seen. The
// signals stay blocked after destruction.
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

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COMMON_SIGNALS_H_
