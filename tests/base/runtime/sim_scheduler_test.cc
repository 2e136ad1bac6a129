#include "base/runtime/sim_scheduler.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

namespace penstock {
namespace {

std::vector<int> OrderOfThree(uint64_t seed, uint64_t* hash) {
  SimScheduler sim(seed);
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) sim.Post([&order, i] { order.push_back(i); });
  sim.RunFor(0);
  *hash = sim.order_hash();
  return order;
}

TEST(SimScheduler, ASeedDeterminesTheRunAndSeedsCoverAllOrders) {
  std::set<std::vector<int>> orders;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    uint64_t first, again;
    const std::vector<int> order = OrderOfThree(seed, &first);
    EXPECT_EQ(OrderOfThree(seed, &again), order);
    EXPECT_EQ(first, again);
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 6u);
}

TEST(SimScheduler, TimeStandsStillInATaskAndJumpsBetweenTasks) {
  SimScheduler sim(1);
  std::vector<Nanos> times;
  sim.PostAt(3600 * kSecond, [&] {
    times.push_back(sim.clock()->Now());
    sim.Post([&] { times.push_back(sim.clock()->Now()); });
    sim.PostAt(7200 * kSecond, [&] { times.push_back(sim.clock()->Now()); });
  });
  sim.RunAll();
  EXPECT_EQ(times, (std::vector<Nanos>{3600 * kSecond, 3600 * kSecond, 7200 * kSecond}));
}

TEST(SimScheduler, RunUntilStopsAtTheDeadlineOrWhenTheConditionHolds) {
  SimScheduler sim(1);
  int ran = 0;
  for (int i = 1; i <= 5; ++i) sim.PostAt(i * kSecond, [&] { ++ran; });
  EXPECT_TRUE(sim.RunUntil([&] { return ran == 2; }, 10 * kSecond));
  EXPECT_EQ(sim.clock()->Now(), 2 * kSecond);
  EXPECT_FALSE(sim.RunUntil([&] { return ran == 5; }, 4 * kSecond + kSecond / 2));
  EXPECT_EQ(ran, 4);
  EXPECT_EQ(sim.clock()->Now(), 4 * kSecond + kSecond / 2);
}

TEST(SimScheduler, CancelledAndDroppedTasksAreDestroyed) {
  SimScheduler sim(1);
  auto held = std::make_shared<int>(0);
  const TimerId timer = sim.PostAt(kSecond, [held] { FAIL(); });
  EXPECT_TRUE(sim.Cancel(timer));
  EXPECT_FALSE(sim.Cancel(timer));
  EXPECT_EQ(held.use_count(), 1);
  sim.Post([held] { FAIL(); });
  sim.DropAll();
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace penstock
