#include "server/worker/stream/compression_trial.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace penstock::worker {
namespace {

constexpr double kMessage = 2 << 20;

// A stream whose link transfers `link` bytes/s. The loader makes `made` bytes/s of its rows, and a core compresses
// `compresses` bytes/s to 1 / `smaller`.
struct World {
  double link = 125e6;
  double made = 1e9;
  double compresses = 600e6;
  double smaller = 1.8;

  CompressionTrial trial;
  Nanos now = 0;
  double sent = 0, compressed = 0;
  int changes = 0;

  void Run(double seconds) {
    sent = compressed = 0;
    const Nanos end = now + static_cast<Nanos>(seconds * kSecond);
    Nanos ready = now;  // when the rows of the next message are ready
    while (now < end) {
      now = std::max(now, ready);
      const bool compress = trial.compress();
      const double busy = compress ? kMessage / compresses + kMessage / smaller / link : kMessage / link;
      const Nanos took = static_cast<Nanos>(busy * kSecond);
      ready += static_cast<Nanos>(kMessage / made * kSecond);
      now += took;
      const bool held_up = ready <= now;
      // the loader makes few messages ahead
      ready = std::max(ready, now - static_cast<Nanos>(4 * kMessage / made * kSecond));
      sent += kMessage;
      if (compress) compressed += kMessage;
      changes += trial.Sent(static_cast<uint64_t>(kMessage), took, held_up, now) ? 1 : 0;
    }
  }
  double rate(double seconds) {
    Run(seconds);
    return sent / seconds;
  }
};

TEST(CompressionTrial, ANarrowLinkGetsIt) {
  World world;
  world.Run(10);
  EXPECT_TRUE(world.trial.on());
  EXPECT_EQ(world.changes, 1);
  EXPECT_NEAR(world.trial.gain(), 1.31, 0.03);
  EXPECT_GT(world.rate(600), 1.25 * 125e6);
}

TEST(CompressionTrial, AWideLinkDoesNot) {
  World world;
  world.link = 2e9;
  world.made = 4e9;
  world.Run(600);
  EXPECT_FALSE(world.trial.on());
  EXPECT_EQ(world.changes, 0);
  EXPECT_LT(world.compressed / world.sent, 0.02);  // some trials, with growing pauses
}

TEST(CompressionTrial, ALinkThatHoldsNothingUpIsLeftAlone) {
  World world;
  world.made = 60e6;
  world.Run(600);
  EXPECT_EQ(world.compressed, 0);
}

TEST(CompressionTrial, RowsThatDoNotGetSmallerGoAsTheyAre) {
  World world;
  world.smaller = 1.0;
  world.Run(600);
  EXPECT_FALSE(world.trial.on());
  EXPECT_LT(world.compressed / world.sent, 0.03);
}

TEST(CompressionTrial, ALinkThatBecomesWideIsNoticed) {
  World world;
  world.Run(60);
  ASSERT_TRUE(world.trial.on());
  world.link = 4e9;
  world.made = 4e9;
  world.Run(700);
  EXPECT_FALSE(world.trial.on());
  world.link = 50e6;
  world.Run(700);
  EXPECT_TRUE(world.trial.on());
}

TEST(CompressionTrial, ATrainerThatWantsLessThanTheLinkGivesEndsIt) {
  World world;
  world.Run(60);
  ASSERT_TRUE(world.trial.on());
  world.made = 20e6;
  world.Run(1400);
  EXPECT_FALSE(world.trial.on());
}

// A link that becomes faster during a trial (one more connection) would make compression look good.
TEST(CompressionTrial, AComparisonAcrossAChangeOfTheLinkIsNotMade) {
  World world;
  world.link = 300e6;
  world.smaller = 1.0;
  while (!world.trial.compress()) world.Run(0.1);
  world.link = 3000e6;
  world.trial.Restart();
  world.Run(20);
  EXPECT_FALSE(world.trial.on());
  EXPECT_EQ(world.changes, 0);

  World narrow;
  narrow.Run(10);
  ASSERT_TRUE(narrow.trial.on());
  narrow.trial.Restart();
  EXPECT_TRUE(narrow.trial.compress()) << "compression stays on until a comparison goes against it";
}

// For any stream: after its first trials, the result is never much worse than the better of both ways.
TEST(CompressionTrial, IsCloseToTheBetterWay) {
  for (const double link : {10e6, 100e6, 300e6, 600e6, 1200e6, 3000e6}) {
    for (const double made : {50e6, 250e6, 1000e6, 4000e6}) {
      for (const double smaller : {1.0, 1.2, 1.9, 3.0}) {
        World world;
        world.link = link;
        world.made = made;
        world.smaller = smaller;
        world.Run(120);
        const double plain = std::min(made, link);
        const double compressed = std::min(made, 1 / (1 / world.compresses + 1 / smaller / link));
        EXPECT_GT(world.rate(600), 0.83 * std::max(plain, compressed))
            << "link " << link << ", made " << made << ", smaller " << smaller;
      }
    }
  }
}

}  // namespace
}  // namespace penstock::worker
