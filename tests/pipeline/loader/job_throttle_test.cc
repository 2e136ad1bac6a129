// Caps of a job: the shares of makers that choose between a capped job and a hungry one, on virtual time.
#include "pipeline/loader/job_throttle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace penstock::loader {
namespace {

// Returns the fraction of the makers' time that the capped job gets in the time of 1000 rows, which last `row` on
// average, and in at least 2 s. If `other`, another job takes each maker that the capped job may not have.
double ShareOf(double cpu_share, int makers, Nanos row, bool other, uint64_t seed) {
  JobThrottle throttle;
  throttle.SetCaps({.cpu_share = cpu_share});
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> draw(1.0 / static_cast<double>(row));
  const Nanos length = kSecond + std::max(2 * kSecond, 1000 * row);
  struct Maker {
    Nanos free = kSecond;
    Nanos capped = 0;  // duration of its row of the capped job; 0: another row
  };
  std::vector<Maker> all(static_cast<size_t>(makers));
  Nanos used = 0;
  for (;;) {
    Maker& maker = *std::min_element(all.begin(), all.end(), [](auto& a, auto& b) { return a.free < b.free; });
    const Nanos now = maker.free;
    if (now > length) break;
    if (maker.capped > 0) throttle.AddMaking(maker.capped);
    used += maker.capped;
    maker.capped = 0;
    const Nanos at = throttle.MayStartAt(now, makers);
    const Nanos took = 1 + static_cast<Nanos>(draw(random));
    if (at <= now) {
      maker.capped = took;
      maker.free = now + took;
    } else {
      maker.free = other ? now + took : at;
    }
  }
  return static_cast<double>(used) / static_cast<double>((length - kSecond) * makers);
}

TEST(JobThrottle, ACappedJobGetsItsShareOfTheMakersTimeWithAndWithoutAnother) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    for (const int makers : {1, 2, 8}) {
      for (const Nanos row : {kMillisecond / 5, 5 * kMillisecond, 60 * kMillisecond}) {
        for (const bool other : {false, true}) {
          const double share = ShareOf(0.25, makers, row, other, seed);
          EXPECT_GE(share, 0.20) << makers << " makers, rows of " << row << " ns, other " << other;
          EXPECT_LE(share, 0.30) << makers << " makers, rows of " << row << " ns, other " << other;
        }
      }
    }
  }
}

TEST(JobThrottle, AnIdleJobSavesUpLittle) {
  JobThrottle throttle;
  throttle.SetCaps({.requests_per_second = 100});
  EXPECT_EQ(throttle.MayStartAt(kSecond, 1), kSecond);
  // After an hour without a request, a burst of 100 ms.
  const Nanos now = 3600 * kSecond;
  int burst = 0;
  while (throttle.MayStartAt(now, 1) == now) {
    throttle.AddRequests(1);
    ++burst;
  }
  EXPECT_EQ(burst, 10);
  EXPECT_EQ(throttle.MayStartAt(now, 1), now + 10 * kMillisecond);
  EXPECT_EQ(throttle.MayStartAt(now + 10 * kMillisecond, 1), now + 10 * kMillisecond);
}

TEST(JobThrottle, ADebtIsBounded) {
  JobThrottle throttle;
  throttle.SetCaps({.cpu_share = 0.01});
  ASSERT_EQ(throttle.MayStartAt(kSecond, 1), kSecond);
  throttle.AddMaking(3600 * kSecond);
  EXPECT_LE(throttle.MayStartAt(kSecond, 1), 32 * kSecond);
}

TEST(JobThrottle, APausedJobNeverStartsARowUntilItIsResumed) {
  JobThrottle throttle;
  EXPECT_FALSE(throttle.limits());
  throttle.SetPaused(true);
  EXPECT_TRUE(throttle.limits());
  EXPECT_EQ(throttle.MayStartAt(kSecond, 4), JobThrottle::kNever);
  throttle.Look(kSecond, true);
  throttle.Look(4 * kSecond, true);
  throttle.Look(5 * kSecond, false);
  throttle.Look(9 * kSecond, false);
  EXPECT_EQ(throttle.held(), 4 * kSecond);
  throttle.SetPaused(false);
  EXPECT_EQ(throttle.MayStartAt(kSecond, 4), kSecond);
}

}  // namespace
}  // namespace penstock::loader
