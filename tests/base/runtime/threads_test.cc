#include "base/runtime/threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "base/runtime/thread_pool.h"
#include "tests/support/counter.h"
#include "tests/support/refused_threads.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

TEST(Threads, ARefusedThreadGivesAnErrorWithItsName) {
  {
    const support::RefusedThreads refused;
    const absl::Status status = StartThread("ps-test", [] {}).status();
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("ps-test"));
  }
  std::atomic<bool> ran{false};
  absl::StatusOr<std::thread> thread = StartThread("ps-test", [&ran] { ran = true; });
  ASSERT_TRUE(thread.ok()) << thread.status();
  thread->join();
  EXPECT_TRUE(ran);
}

TEST(Threads, ALoopOnThreadsCallsEachNumberOnceWhateverTheSystemGrants) {
  for (const int threads : {0, 1, 3, 100}) {
    for (const bool refuses : {false, true}) {
      std::optional<support::RefusedThreads> refused;
      if (refuses) refused.emplace();
      for (const size_t count : {0, 1, 50}) {
        std::vector<std::atomic<int>> calls(count);
        ForEachOnThreads("ps-test", count, threads, [&](size_t i) { ++calls[i]; });
        for (const std::atomic<int>& each : calls) EXPECT_EQ(each, 1);
      }
    }
  }
}

TEST(Threads, TheCheckReportsNeededAndGrantedThreads) {
  EXPECT_TRUE(CheckThreads(8, "a worker").ok());
  const support::RefusedThreads refused;
  const absl::Status status = CheckThreads(8, "a worker");
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("a worker needs 8 threads, and the system grants 0: "));
  EXPECT_THAT(std::string(status.message()), HasSubstr(ThreadLimits()));
}

TEST(Threads, APoolWithoutThreadsRunsTasksOnceTheSystemGrantsAThread) {
  std::optional<support::RefusedThreads> refused;
  refused.emplace();
  support::Counter ran;
  ThreadPool pool(2, "test");
  pool.Post([&ran] { ran.Add(); });
  EXPECT_EQ(pool.GrowTo(2), 0);
  refused.reset();
  pool.Post([&ran] { ran.Add(); });
  ran.WaitFor(2);
}

}  // namespace
}  // namespace penstock
