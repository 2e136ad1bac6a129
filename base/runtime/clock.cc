#include "base/runtime/clock.h"

#include <thread>

namespace penstock {
namespace {

class SteadyClock final : public Clock {
 public:
  Nanos Now() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  void Pause(Nanos length) override { std::this_thread::sleep_for(std::chrono::nanoseconds(length)); }
};

}  // namespace

Clock* Clock::Real() {
  static SteadyClock* const clock = new SteadyClock;
  return clock;
}

}  // namespace penstock
