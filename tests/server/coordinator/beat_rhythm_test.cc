#include "server/coordinator/state/beat_rhythm.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace penstock::coordinator {
namespace {

TEST(BeatRhythm, IsBetweenOneAndFiveQuartersOfThePeriod) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    const Nanos period = 1 + static_cast<Nanos>(random() % (5 * kSecond));
    const Nanos now = static_cast<Nanos>(random() % (1ull << 50)) - (i % 2 == 0 ? Nanos{1} << 49 : 0);
    const Nanos until = UntilNextBeat(now, period, random() % 100'000, std::to_string(random()));
    EXPECT_GT(until, period / 4);
    EXPECT_LE(until, period + period / 4);
  }
}

TEST(BeatRhythm, ProcessesThatStartAtDifferentTimesBeatTogether) {
  std::map<Nanos, int> moments;
  for (int who = 0; who < 200; ++who) {
    Nanos now = 17 * kSecond + who * 5 * kMillisecond;  // all processes begin within a second
    for (int beat = 0; beat < 3; ++beat) {
      const Nanos until = UntilNextBeat(now, kSecond, 200, "process-" + std::to_string(who));
      if (beat > 0) {
        EXPECT_GT(until, 970 * kMillisecond) << "one period, less what the answer took";
      }
      now += until + (beat < 2 ? 25 * kMillisecond : 0);
    }
    ++moments[now % kSecond];
  }
  EXPECT_EQ(moments.size(), 1u);
}

TEST(BeatRhythm, ManyThousandBeatsAreSpreadOverThePeriod) {
  std::map<Nanos, int> at;
  for (int who = 0; who < 20'000; ++who) {
    const Nanos now = who * kMillisecond / 20;
    ++at[(now + UntilNextBeat(now, kSecond, 20'000, "process-" + std::to_string(who))) % kSecond];
  }
  EXPECT_GE(at.size(), 40u);
  for (const auto& [moment, count] : at) EXPECT_LE(count, 2 * static_cast<int>(kSpeakersAtOnce)) << moment;
}

TEST(BeatRhythm, ThePeriodGrowsForManyProcessesWithinHalfTheDeathTimeout) {
  EXPECT_EQ(BeatPeriod(kManySpeakers, kSecond, 3 * kSecond), kSecond);
  EXPECT_EQ(BeatPeriod(kManySpeakers + 1, kSecond, 3 * kSecond), 1500 * kMillisecond);
  EXPECT_EQ(BeatPeriod(100'000, kSecond, 60 * kSecond), 1500 * kMillisecond);
  EXPECT_EQ(BeatPeriod(100'000, kSecond, 2400 * kMillisecond), 1200 * kMillisecond);
  EXPECT_EQ(BeatPeriod(100'000, kSecond, 2 * kSecond), kSecond);
}

}  // namespace
}  // namespace penstock::coordinator
