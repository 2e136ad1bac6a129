// ReleaseFreedMemory releases memory that other threads of the process allocated.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/heap.h"
#include "base/runtime/thread_pool.h"
#include "base/runtime/threads.h"
#include "tests/support/sanitizers.h"

namespace penstock {
namespace {

constexpr uint64_t kBlocks = 3000, kBytes = 20'000;

// Calls `run` with a function that allocates blocks, which `run` calls on another thread. Frees the blocks on this
// thread, and returns the share of their bytes that ReleaseFreedMemory releases. No used block follows them, so they
// become the free end of the other thread's arena.
double ReleasedShare(const std::function<void(std::function<void()>)>& run) {
  std::vector<std::shared_ptr<const std::string>> blocks;
  blocks.reserve(kBlocks);
  run([&blocks] {
    while (blocks.size() < kBlocks) blocks.push_back(std::make_shared<std::string>(kBytes, 'x'));
  });
  const auto full = static_cast<double>(OwnMemory());
  blocks.clear();
  ReleaseFreedMemory();
  return (full - static_cast<double>(OwnMemory())) / static_cast<double>(kBlocks * kBytes);
}

class ThreadArenas : public ::testing::Test {
 protected:
  void SetUp() override {
    if (support::kSanitizersHeap) GTEST_SKIP() << "the sanitizer has a heap of its own";
    if (std::getenv("GLIBC_TUNABLES") != nullptr || std::getenv("MALLOC_TRIM_THRESHOLD_") != nullptr) {
      GTEST_SKIP() << "the environment tunes this heap";
    }
    KeepFreedMemory(256 << 20);  // exceeds the size of an arena's end, so that free() releases nothing
  }
};

TEST_F(ThreadArenas, TheEndOfAnIdlePoolThreadsArenaIsReleased) {
  ThreadPool pool(1, "test");
  const auto run = [&pool](const std::function<void()>& allocate) {
    std::latch done(1);
    pool.Post([&] {
      allocate();
      done.count_down();
    });
    done.wait();
  };
  EXPECT_GT(ReleasedShare(run), 0.9);
  EXPECT_GT(ReleasedShare(run), 0.9) << "again";
}

TEST_F(ThreadArenas, TheEndOfABlockedThreadsArenaIsReleased) {
  std::latch done(1), end(1);
  std::function<void()> allocate;
  absl::StatusOr<std::thread> thread;
  const auto run = [&](std::function<void()> given) {
    allocate = std::move(given);
    thread = StartThread("ps-test", [&] {
      allocate();
      done.count_down();
      end.wait();
    });
    ASSERT_TRUE(thread.ok()) << thread.status();
    done.wait();
  };
  EXPECT_GT(ReleasedShare(run), 0.9);
  end.count_down();
  if (thread.ok()) thread->join();
}

}  // namespace
}  // namespace penstock
