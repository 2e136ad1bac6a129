#include "base/runtime/thread_pool.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace penstock {
namespace {

class Event {
 public:
  void Set() {
    MutexLock lock(&mutex_);
    set_ = true;
    changed_.NotifyAll();
  }
  void Wait() {
    MutexLock lock(&mutex_);
    while (!set_) changed_.Wait(&mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool set_ ABSL_GUARDED_BY(mutex_) = false;
};

// Records the tasks that ran, in order, from any thread.
class Log {
 public:
  void Add(int what) {
    MutexLock lock(&mutex_);
    what_.push_back(what);
  }
  std::vector<int> all() {
    MutexLock lock(&mutex_);
    return what_;
  }

 private:
  Mutex mutex_;
  std::vector<int> what_ ABSL_GUARDED_BY(mutex_);
};

TEST(ThreadPool, GrowsWhileItWorks) {
  ThreadPool pool(1, "test");
  Event first, second;
  // Each task waits for another, so one thread would hang.
  pool.Post([&] {
    second.Wait();
    first.Set();
  });
  pool.Post([&second] { second.Set(); });
  EXPECT_EQ(pool.GrowTo(2), 2);
  first.Wait();
  EXPECT_EQ(pool.GrowTo(1), 2) << "threads stay";
  pool.Stop();
  EXPECT_EQ(pool.GrowTo(8), 2);
}

TEST(ThreadPool, LoadCountsTheRunningAndTheWaitingTasks) {
  ThreadPool pool(1, "test");
  Event started, end, last;
  pool.Post([&] {
    started.Set();
    end.Wait();
  });
  started.Wait();
  pool.Post([] {});
  pool.Post([&] { last.Set(); });
  EXPECT_EQ(pool.load().busy, 1);
  EXPECT_EQ(pool.load().waiting, 2u);
  end.Set();
  last.Wait();
  EXPECT_EQ(pool.load().waiting, 0u);
}

TEST(ThreadPool, OneThreadRunsTasksInTheOrderOfPosting) {
  Log log;
  Event done;
  ThreadPool pool(1, "test");
  for (int i = 0; i < 100; ++i) pool.Post([&log, i] { log.Add(i); });
  pool.Post([&done] { done.Set(); });
  done.Wait();
  std::vector<int> expected(100);
  for (int i = 0; i < 100; ++i) expected[i] = i;
  EXPECT_EQ(log.all(), expected);
}

TEST(ThreadPool, ADueTimerDoesNotWaitForTasksPostedLater) {
  Log log;
  Event held, go, done;
  ThreadPool pool(1, "test");
  pool.Post([&] {
    held.Set();
    go.Wait();
  });
  held.Wait();
  pool.PostAt(pool.clock()->Now(), [&log] { log.Add(0); });
  for (int i = 1; i <= 3; ++i) pool.Post([&log, i] { log.Add(i); });
  pool.Post([&done] { done.Set(); });
  go.Set();
  done.Wait();
  EXPECT_EQ(log.all(), (std::vector<int>{0, 1, 2, 3}));
}

TEST(ThreadPool, ATimerFiresWhileTheThreadThatWatchedItIsBusy) {
  Event fired, busy, free;
  ThreadPool pool(2, "test");
  pool.PostAt(pool.clock()->Now() + 30 * kMillisecond, [&] { fired.Set(); });
  pool.Post([&] {
    busy.Set();
    free.Wait();
  });
  busy.Wait();
  fired.Wait();
  free.Set();
}

TEST(ThreadPool, AllThreadsRunTasksIncludingTheOneThatWatchesTimers) {
  ThreadPool pool(3, "test");
  pool.PostAt(pool.clock()->Now() + 3600 * kSecond, [] { FAIL(); });
  for (int round = 0; round < 200; ++round) {
    // Each task waits for the others, so a missing thread would hang.
    const auto here = std::make_shared<std::array<Event, 3>>();
    for (size_t mine = 0; mine < here->size(); ++mine) {
      pool.Post([here, mine] {
        (*here)[mine].Set();
        for (Event& other : *here) other.Wait();
      });
    }
    for (Event& each : *here) each.Wait();
  }
}

TEST(ThreadPool, TimersFireInTheOrderOfTheirTimesAndNeverEarly) {
  Log log;
  Event held, go, done;
  Nanos last_at = 0;
  ThreadPool pool(1, "test");
  pool.Post([&] {
    held.Set();
    go.Wait();
  });
  held.Wait();
  const Nanos now = pool.clock()->Now();
  pool.PostAt(now + 20 * kMillisecond, [&] {
    log.Add(2);
    last_at = pool.clock()->Now();
    done.Set();
  });
  pool.PostAt(now + 10 * kMillisecond, [&] { log.Add(1); });
  pool.PostAt(now - kSecond, [&] { log.Add(0); });
  go.Set();
  done.Wait();
  EXPECT_EQ(log.all(), (std::vector<int>{0, 1, 2}));
  EXPECT_GE(last_at, now + 20 * kMillisecond);
}

TEST(ThreadPool, ACancelledTimerIsDestroyedAndNeverRuns) {
  auto held = std::make_shared<int>(0);
  ThreadPool pool(1, "test");
  const TimerId timer = pool.PostAt(pool.clock()->Now() + 3600 * kSecond, [held] { FAIL(); });
  EXPECT_EQ(held.use_count(), 2);
  EXPECT_TRUE(pool.Cancel(timer));
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_FALSE(pool.Cancel(timer));
}

TEST(ThreadPool, StopDropsQueuedTasksAndWaitsForRunningTasks) {
  auto dropped = std::make_shared<int>(0);
  Event held, go;
  bool ended = false;
  ThreadPool pool(1, "test");
  pool.Post([&] {
    held.Set();
    go.Wait();
    ended = true;
  });
  held.Wait();
  for (int i = 0; i < 10; ++i) pool.Post([dropped] { FAIL(); });
  pool.PostAt(pool.clock()->Now(), [dropped] { FAIL(); });
  std::thread stopper([&] { pool.Stop(); });
  // Stop drops the queue before it waits for the running task.
  while (dropped.use_count() > 1) std::this_thread::yield();
  go.Set();
  stopper.join();
  EXPECT_TRUE(ended);
  pool.Post([dropped] { FAIL(); });
  EXPECT_EQ(dropped.use_count(), 1);
}

TEST(ThreadPool, TryPostRejectsATaskAboveTheLimit) {
  Event held, go;
  ThreadPool pool(1, "test");
  pool.Post([&] {
    held.Set();
    go.Wait();
  });
  held.Wait();
  EXPECT_TRUE(pool.TryPost([] {}, 2));
  EXPECT_TRUE(pool.TryPost([] {}, 2));
  EXPECT_FALSE(pool.TryPost([] {}, 2));
  go.Set();
}

}  // namespace
}  // namespace penstock
