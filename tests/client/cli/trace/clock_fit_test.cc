#include "client/cli/trace/clock_fit.h"

#include <gtest/gtest.h>

#include <random>

namespace penstock::cli {
namespace {

// Given true offsets, bounds that contain them, and messages that take some time, the fit keeps the bounds, and each
// message arrives after it was sent.
TEST(FitClocks, KeepsTheBoundsAndLetsNoMessageArriveBeforeItIsSent) {
  std::mt19937_64 random(3);
  const auto draw = [&random](Nanos most) { return std::uniform_int_distribution<Nanos>(0, most)(random); };
  int moved = 0;
  for (int round = 0; round < 300; ++round) {
    const size_t processes = 2 + static_cast<size_t>(draw(10));
    std::vector<Nanos> truth;
    std::vector<ClockBounds> bounds;
    for (size_t p = 0; p < processes; ++p) {
      truth.push_back(draw(1'000'000'000'000) - 500'000'000'000);
      bounds.push_back({truth.back() - draw(2'000'000), truth.back() + draw(2'000'000)});
    }
    std::vector<SeenMessage> messages;
    for (int m = 0; m < 200; ++m) {
      SeenMessage message;
      message.from = static_cast<size_t>(draw(static_cast<Nanos>(processes) - 1));
      message.to = static_cast<size_t>(draw(static_cast<Nanos>(processes) - 1));
      const Nanos sent = draw(5'000'000'000), received = sent + 20'000 + draw(5'000'000);
      message.sent = sent - truth[message.from];
      message.received = received - truth[message.to];
      if (message.from != message.to) messages.push_back(message);
    }
    const std::vector<Nanos> offsets = FitClocks(bounds, messages);
    ASSERT_EQ(offsets.size(), processes);
    for (size_t p = 0; p < processes; ++p) {
      ASSERT_GE(offsets[p], bounds[p].least);
      ASSERT_LE(offsets[p], bounds[p].most);
      moved += offsets[p] != bounds[p].least + (bounds[p].most - bounds[p].least) / 2 ? 1 : 0;
    }
    for (const SeenMessage& message : messages) {
      ASSERT_LE(message.sent + offsets[message.from], message.received + offsets[message.to]) << "round " << round;
    }
  }
  EXPECT_GT(moved, 100);  // the middles of the bounds alone would not suffice
}

TEST(FitClocks, TakesTheMiddleOfTheBoundsWithoutMessages) {
  EXPECT_EQ(FitClocks({{-10, 30}, {5, 5}}, {}), (std::vector<Nanos>{10, 5}));
}

TEST(FitClocks, KeepsTheBoundsIfMessagesContradictThem) {
  const std::vector<Nanos> offsets = FitClocks({{0, 10}, {0, 10}}, {{0, 1, 1000, 0}});
  EXPECT_EQ(offsets, (std::vector<Nanos>{0, 10}));
}

}  // namespace
}  // namespace penstock::cli
