// The loop around the state: what is answered when, what a failing store does, what is refused.
#include "server/coordinator/service/control_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>

#include "server/coordinator/service/work_thread.h"
#include "server/coordinator/store/fake_store.h"
#include "tests/server/coordinator/job_specs.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

class ControlLoopTest : public ::testing::Test {
 protected:
  void Start(ControlLoop::Options options = {}) {
    options.tick = std::chrono::milliseconds(1);
    auto state = CoordinatorState::Restore({}, clock_.Now(), 1, v1::StoredState());
    ASSERT_TRUE(state.ok());
    loop_ = std::make_unique<ControlLoop>(*std::move(state), &store_, 0, &clock_, options);
  }

  absl::Status Apply(Request request, ControlLoop::Deadline deadline = ControlLoop::Deadline::max()) {
    auto done = std::make_shared<std::promise<absl::Status>>();
    auto status = done->get_future();
    loop_->Apply(std::move(request), deadline, [done](absl::Status result, Reply*) { done->set_value(result); });
    return status.get();
  }

  std::future<absl::StatusOr<v1::WatchReply>> Watch(uint64_t id, uint64_t known, uint32_t wait_ms) {
    v1::WatchRequest request;
    request.set_known_revision(known);
    request.set_wait_ms(wait_ms);
    auto done = std::make_shared<std::promise<absl::StatusOr<v1::WatchReply>>>();
    auto reply = done->get_future();
    loop_->Watch(id, request, [done](absl::StatusOr<v1::WatchReply> result) { done->set_value(std::move(result)); });
    return reply;
  }

  ManualClock clock_;
  FakeStore store_;
  std::unique_ptr<ControlLoop> loop_;
};

TEST_F(ControlLoopTest, AHeldWatchIsAnsweredByAChange) {
  Start();
  const uint64_t known = Watch(1, 0, 0).get()->revision();
  auto held = Watch(2, known, 30'000);
  EXPECT_TRUE(Apply(SubmitOf(SimpleSpec("train"))).ok());
  const auto reply = held.get();
  ASSERT_TRUE(reply.ok());
  EXPECT_GT(reply->revision(), known);
  EXPECT_EQ(reply->jobs_size(), 1);
}

TEST_F(ControlLoopTest, AHeldWatchEndsEmptyWhenItsTimeIsOverByTheClockGiven) {
  Start();
  const uint64_t known = Watch(1, 0, 0).get()->revision();
  auto held = Watch(2, known, 20'000);
  // Handled behind the watch: it is held by now.
  EXPECT_TRUE(Apply(Tick()).ok());
  clock_.Advance(20 * kSecond);
  const auto reply = held.get();
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->jobs_size(), 0);
  EXPECT_EQ(reply->revision(), known);
}

TEST_F(ControlLoopTest, HeldWatchesAreLetGoWhenCancelledReleasedOrTooMany) {
  ControlLoop::Options options;
  options.max_watches = 2;
  Start(options);
  const uint64_t known = Watch(1, 0, 0).get()->revision();
  auto cancelled = Watch(2, known, 30'000);
  auto released = Watch(3, known, 30'000);
  EXPECT_EQ(Watch(4, known, 30'000).get().status().code(), absl::StatusCode::kResourceExhausted);
  loop_->CancelWatch(2);
  loop_->CancelWatch(99);
  EXPECT_EQ(cancelled.get().status().code(), absl::StatusCode::kCancelled);
  loop_->ReleaseWatches();
  EXPECT_EQ(released.get().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Watch(5, known, 30'000).get().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(Apply(Tick()).ok());
}

TEST_F(ControlLoopTest, ADestroyedLoopLetsItsWatchesGo) {
  Start();
  auto held = Watch(2, Watch(1, 0, 0).get()->revision(), 30'000);
  loop_.reset();
  EXPECT_EQ(held.get().status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ControlLoopTest, WhatCannotBeStoredIsNotConfirmedAndIsStoredLater) {
  Start();
  store_.FailWith(absl::ResourceExhaustedError("coordinator.db: disk full"));
  const absl::Status refused = Apply(WorkerCalled("a"));
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("disk full"));
  // Heartbeats have nothing to store and go on.
  EXPECT_TRUE(Apply(BeatOf("a")).ok());
  // No job is begun that would be forgotten.
  EXPECT_EQ(Apply(SubmitOf(SimpleSpec("train"))).code(), absl::StatusCode::kUnavailable);
  store_.FailWith(absl::OkStatus());
  EXPECT_TRUE(Apply(SubmitOf(SimpleSpec("train"))).ok());
  EXPECT_EQ(store_.Load()->workers_size(), 1);
  EXPECT_EQ(store_.Load()->jobs_size(), 1);
}

TEST_F(ControlLoopTest, AConfirmedRequestIsStored) {
  Start();
  EXPECT_TRUE(Apply(SubmitOf(SimpleSpec("train"))).ok());
  EXPECT_EQ(store_.Load()->jobs_size(), 1);
}

TEST_F(ControlLoopTest, ARequestWhoseDeadlineHasPassedIsNotApplied) {
  Start();
  EXPECT_EQ(Apply(SubmitOf(SimpleSpec("train")), std::chrono::system_clock::now() - std::chrono::seconds(1)).code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(store_.Load()->jobs_size(), 0);
}

TEST_F(ControlLoopTest, TooManyWaitingRequestsAreRefusedAtOnce) {
  ControlLoop::Options options;
  options.max_waiting = 0;
  Start(options);
  EXPECT_EQ(Apply(Tick()).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Watch(1, 0, 0).get().status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(loop_->Read([](const CoordinatorState&, Nanos) {}));
}

TEST(WorkThreadTest, RunsWhatWasPostedBeforeItEndsAndRefusesMoreThanItHolds) {
  int ran = 0;
  std::promise<void> started, go;
  {
    WorkThread thread(1);
    EXPECT_TRUE(thread.Post([&] {
      started.set_value();
      go.get_future().wait();
      ++ran;
    }));
    started.get_future().wait();
    EXPECT_TRUE(thread.Post([&] { ++ran; }));
    EXPECT_FALSE(thread.Post([&] { ++ran; }));
    go.set_value();
  }
  EXPECT_EQ(ran, 2);
}

}  // namespace
}  // namespace penstock
