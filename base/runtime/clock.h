// Time as a parameter. Code that measures or waits takes a Clock*, so that its tests need no sleep.
#ifndef PENSTOCK_BASE_RUNTIME_CLOCK_H_
#define PENSTOCK_BASE_RUNTIME_CLOCK_H_

#include <atomic>
#include <chrono>
#include <cstdint>

namespace penstock {

// Nanoseconds of a monotonic clock with an arbitrary start.
using Nanos = int64_t;

constexpr Nanos kMillisecond = 1'000'000;
constexpr Nanos kSecond = 1'000'000'000;

constexpr double InSeconds(Nanos time) { return static_cast<double>(time) / kSecond; }

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Nanos Now() const = 0;
  // Blocks the calling thread for `length`. For pauses between attempts, never to wait for another thread.
  virtual void Pause(Nanos length) = 0;

  // Returns the process's steady clock, which is never destroyed.
  static Clock* Real();
};

// A clock that advances only through Advance and Pause. Thread-safe.
class ManualClock final : public Clock {
 public:
  Nanos Now() const override { return now_.load(); }
  void Pause(Nanos length) override { Advance(length); }
  void Advance(Nanos by) { now_.fetch_add(by); }

 private:
  std::atomic<Nanos> now_{0};
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_RUNTIME_CLOCK_H_
