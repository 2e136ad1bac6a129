#include "client/delivery/window_size.h"

#include <gtest/gtest.h>

namespace penstock::client {
namespace {

// A trainer that takes every row at once, for `seconds`, over a link of `round_trip` that could carry `rate` steps a
// second. At most half a window arrives per round trip. Connecting takes two round trips.
void Read(WindowSize* size, Nanos round_trip, double rate, int seconds) {
  size->Opened(1, 0);
  Nanos now = 2 * round_trip;
  size->Heard(1, now);
  double owed = 0;
  while (now < seconds * kSecond) {
    const double possible = std::min(rate, static_cast<double>(size->steps()) / 2 * kSecond / round_trip);
    now += kMillisecond;
    for (owed += possible / 1000; owed >= 1; --owed) size->StepTaken(now);
  }
}

TEST(WindowSize, DoesNotGrowForNearWorkers) {
  WindowSize size(16, 1000);
  Read(&size, kMillisecond / 2, 500, 20);
  EXPECT_EQ(size.steps(), 16u);
}

TEST(WindowSize, FillsALongLinkWithinSeconds) {
  WindowSize size(16, 1000);
  Read(&size, 100 * kMillisecond, 400, 3);
  EXPECT_GE(size.steps() / 2, 40u) << "the steps in flight during a round trip";
  EXPECT_LE(size.steps(), 200u) << "fewer than the limit permits";
}

TEST(WindowSize, StaysWithinItsLimit) {
  WindowSize size(16, 60);
  Read(&size, 100 * kMillisecond, 4000, 20);
  EXPECT_EQ(size.steps(), 60u);
  WindowSize narrow(2, 2);
  Read(&narrow, 100 * kMillisecond, 4000, 20);
  EXPECT_EQ(narrow.steps(), 2u);
}

TEST(WindowSize, DoesNotGrowForASlowTrainer) {
  WindowSize size(16, 1000);
  Read(&size, 100 * kMillisecond, 5, 60);
  EXPECT_EQ(size.steps(), 16u);
}

TEST(WindowSize, DoesNotGrowForABusyWorker) {
  WindowSize size(16, 100000);
  size.Opened(1, 0);
  size.Heard(1, 60 * kSecond);
  Nanos now = 60 * kSecond;
  for (int i = 0; i < 1000; ++i) size.StepTaken(now += 10 * kMillisecond);
  EXPECT_LE(size.steps(), 220u);
}

}  // namespace
}  // namespace penstock::client
