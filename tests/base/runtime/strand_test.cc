#include "base/runtime/strand.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/runtime/sim_scheduler.h"
#include "base/runtime/thread_pool.h"

namespace penstock {
namespace {

TEST(Strand, TasksRunOneAtATimeAndKeepEachThreadsOrder) {
  constexpr int kThreads = 4, kTasks = 2000;
  ThreadPool pool(4, "test");
  Strand strand(&pool);
  std::atomic<bool> inside{false};
  std::atomic<int> left{kThreads * kTasks};
  std::vector<int> last(kThreads, -1);  // only the strand's tasks use it, without a lock
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kTasks; ++i) {
        strand.Post([&, t, i] {
          EXPECT_FALSE(inside.exchange(true));
          EXPECT_TRUE(strand.RunsHere());
          EXPECT_EQ(last[t], i - 1);
          last[t] = i;
          inside.store(false);
          left.fetch_sub(1);
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  while (left.load() > 0) std::this_thread::yield();
  EXPECT_FALSE(strand.RunsHere());
}

TEST(Strand, ABusyStrandDoesNotStarveAnother) {
  SimScheduler sim(1);
  Strand busy(&sim), other(&sim);
  int ran = 0, ran_before = -1;
  for (int i = 0; i < 1000; ++i) busy.Post([&] { ++ran; });
  other.Post([&] { ran_before = ran; });
  sim.RunFor(0);
  EXPECT_EQ(ran, 1000);
  EXPECT_LT(ran_before, 1000);
}

TEST(Strand, MayBeDestroyedInItsOwnTaskAndDropsTheOtherTasks) {
  SimScheduler sim(1);
  auto strand = std::make_unique<Strand>(&sim);
  auto held = std::make_shared<int>(0);
  bool ran = false;
  strand->Post([&] {
    ran = true;
    strand.reset();
  });
  strand->Post([held] { FAIL(); });
  sim.RunFor(kSecond);
  EXPECT_TRUE(ran);
  EXPECT_EQ(held.use_count(), 1);
}

// A session's tasks hold the session, which holds its strand.
TEST(Strand, TasksThatOwnTheirStrandAreDestroyedWhenTheExecutorStops) {
  struct Session {
    explicit Session(Executor* executor) : strand(executor) {}
    Strand strand;
  };
  ThreadPool pool(1, "test");
  std::weak_ptr<Session> before, after;
  std::atomic<bool> held{false}, go{false};
  pool.Post([&] {
    held = true;
    while (!go) std::this_thread::yield();
  });
  while (!held) std::this_thread::yield();
  {
    auto session = std::make_shared<Session>(&pool);
    before = session;
    session->strand.Post([session] { FAIL(); });
  }
  std::thread stopper([&] { pool.Stop(); });
  while (!before.expired()) std::this_thread::yield();
  go = true;
  stopper.join();
  {
    auto session = std::make_shared<Session>(&pool);
    after = session;
    session->strand.Post([session] { FAIL(); });
  }
  EXPECT_TRUE(after.expired());
}

TEST(StrandTimer, RunsOnceAtItsTimeOnTheStrand) {
  SimScheduler sim(1);
  Strand strand(&sim);
  StrandTimer timer(&strand);
  Nanos ran_at = -1;
  timer.Set(5 * kSecond, [&] {
    strand.AssertHere();
    EXPECT_FALSE(timer.pending());
    ran_at = sim.clock()->Now();
  });
  EXPECT_TRUE(timer.pending());
  EXPECT_EQ(timer.when(), 5 * kSecond);
  sim.RunFor(10 * kSecond);
  EXPECT_EQ(ran_at, 5 * kSecond);
}

TEST(StrandTimer, ASecondSetReplacesTheFirst) {
  SimScheduler sim(1);
  Strand strand(&sim);
  StrandTimer timer(&strand);
  std::vector<int> ran;
  timer.Set(kSecond, [&] { ran.push_back(1); });
  timer.Set(2 * kSecond, [&] { ran.push_back(2); });
  sim.RunFor(10 * kSecond);
  EXPECT_EQ(ran, std::vector<int>{2});
}

// The timer is due, but its turn on the strand has not come: Cancel() still takes effect.
TEST(StrandTimer, NeverRunsIfCancelledBeforeItsTurn) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SimScheduler sim(seed);
    Strand strand(&sim);
    auto timer = std::make_unique<StrandTimer>(&strand);
    bool cancelled = false;
    timer->Set(kSecond, [&] { EXPECT_FALSE(cancelled); });
    sim.PostAt(kSecond, [&] {
      strand.Post([&] {
        cancelled = true;
        timer.reset();
      });
    });
    sim.RunFor(2 * kSecond);
  }
}

}  // namespace
}  // namespace penstock
