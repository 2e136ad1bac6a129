// Small parts of base: clock, mutex, status macros, checks.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "base/check.h"
#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "base/status_macros.h"

namespace penstock {
namespace {

TEST(Clock, TheRealClockNeverGoesBackAndTheManualClockMovesOnlyByAdvance) {
  const Nanos before = Clock::Real()->Now();
  EXPECT_GE(Clock::Real()->Now(), before);
  ManualClock clock;
  const Nanos start = clock.Now();
  clock.Advance(3 * kSecond + 5 * kMillisecond);
  EXPECT_EQ(clock.Now() - start, 3'005'000'000);
}

struct Guarded {
  Mutex mutex;
  CondVar changed;
  int value ABSL_GUARDED_BY(mutex) = 0;
};

TEST(Mutex, ProtectsItsDataAndNotifiesWaiters) {
  Guarded guarded;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) {
      MutexLock lock(&guarded.mutex);
      ++guarded.value;
      guarded.changed.NotifyAll();
    }
  });
  {
    MutexLock lock(&guarded.mutex);
    while (guarded.value < 1000) guarded.changed.Wait(&guarded.mutex);
    EXPECT_EQ(guarded.value, 1000);
    EXPECT_FALSE(guarded.changed.WaitFor(&guarded.mutex, std::chrono::nanoseconds(1)));
  }
  other.join();
}

absl::StatusOr<int> Half(int x) {
  if (x % 2 != 0) return absl::InvalidArgumentError("odd");
  return x / 2;
}

absl::StatusOr<int> Quarter(int x) {
  PS_ASSIGN_OR_RETURN(const int half, Half(x));
  PS_RETURN_IF_ERROR(Half(half).status());
  return Half(half);
}

TEST(StatusMacros, ReturnTheFirstErrorAndOtherwiseContinue) {
  EXPECT_EQ(Quarter(12).value(), 3);
  EXPECT_EQ(Quarter(7).status(), absl::InvalidArgumentError("odd"));
  EXPECT_EQ(Quarter(6).status(), absl::InvalidArgumentError("odd"));
}

TEST(CheckDeathTest, ABrokenInvariantEndsTheProcessAndIsNamed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const int x = 1;
  PS_CHECK(x == 1);
  EXPECT_DEATH(PS_CHECK(x == 2), "base_test.cc:[0-9]+: broken invariant: x == 2");
}

}  // namespace
}  // namespace penstock
