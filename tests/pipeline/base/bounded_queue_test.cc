#include "pipeline/base/bounded_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace penstock {
namespace {

TEST(BoundedQueue, KeepsTheOrderOfOneProducerAndItsBound) {
  BoundedQueue<int> queue(3);
  std::atomic<int> pushed{0};
  std::thread producer([&] {
    for (int i = 0; i < 2000; ++i) {
      ASSERT_TRUE(queue.Push(i).ok());
      ++pushed;
    }
  });
  for (int i = 0; i < 2000; ++i) {
    ASSERT_LE(pushed, i + 3);
    ASSERT_EQ(queue.Pop().value(), i);
  }
  producer.join();
}

TEST(BoundedQueue, HandsEachItemToOneOfManyConsumers) {
  BoundedQueue<std::unique_ptr<int>> queue(5);
  std::vector<std::atomic<int>> seen(4000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (auto item = queue.Pop(); item.ok(); item = queue.Pop()) {
        ++seen[static_cast<size_t>(**item)];
      }
    });
  }
  std::vector<std::thread> producers;
  for (int t = 0; t < 4; ++t) {
    producers.emplace_back([&, t] {
      for (int i = 0; i < 1000; ++i) {
        ASSERT_TRUE(queue.Push(std::make_unique<int>(t * 1000 + i)).ok());
      }
    });
  }
  for (std::thread& thread : producers) thread.join();
  queue.Close(absl::CancelledError("done"));
  for (std::thread& thread : threads) thread.join();
  for (const auto& count : seen) EXPECT_EQ(count, 1);
}

TEST(BoundedQueue, AfterCloseWhatIsLeftComesOutThenTheFirstStatus) {
  BoundedQueue<int> queue(10);
  ASSERT_TRUE(queue.Push(1).ok());
  ASSERT_TRUE(queue.Push(2).ok());
  queue.Close(absl::DataLossError("first"));
  queue.Close(absl::InternalError("second"));
  EXPECT_EQ(queue.Push(3), absl::DataLossError("first"));
  EXPECT_EQ(queue.Pop().value(), 1);
  EXPECT_EQ(queue.Pop().value(), 2);
  EXPECT_EQ(queue.Pop().status(), absl::DataLossError("first"));
  EXPECT_EQ(queue.Pop().status(), absl::DataLossError("first"));
}

// Whether the threads wait already or come later, they get the status and end.
TEST(BoundedQueue, CloseWakesThoseWhoWait) {
  for (int round = 0; round < 50; ++round) {
    BoundedQueue<int> full(1), empty(1);
    ASSERT_TRUE(full.Push(0).ok());
    std::vector<std::thread> threads;
    std::atomic<int> cancelled{0};
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&] { cancelled += absl::IsCancelled(full.Push(1)); });
      threads.emplace_back([&] { cancelled += absl::IsCancelled(empty.Pop().status()); });
    }
    full.Close(absl::CancelledError("stop"));
    empty.Close(absl::CancelledError("stop"));
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(cancelled, 4);
  }
}

}  // namespace
}  // namespace penstock
