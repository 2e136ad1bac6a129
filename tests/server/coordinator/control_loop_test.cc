// The loop around the state: when it answers, what it rejects, and the cost of watchers.
#include "server/coordinator/service/control_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "tests/server/coordinator/control_loop_harness.h"

namespace penstock::coordinator {
namespace {

using ::testing::HasSubstr;

TEST_F(ControlLoopTest, AHeldWatchIsAnsweredByAChange) {
  Start();
  const uint64_t known = Revision();
  const auto held = Watch(2, known, 30'000);
  sim_.RunFor(kSecond);
  EXPECT_FALSE(held->has_value());
  EXPECT_TRUE(Apply(SubmitOf(SimpleSpec("train"))).ok());
  ASSERT_EQ(CodeOf(held), absl::StatusCode::kOk);
  const WatchAnswer& answer = *(**held)->get();
  EXPECT_GT(answer.reply.revision(), known);
  ASSERT_EQ(answer.reply.jobs_size(), 1);
  EXPECT_EQ(answer.reply.jobs(0).record().name(), "train");
  EXPECT_EQ(answer.bytes, answer.reply.SerializeAsString());
}

TEST_F(ControlLoopTest, AHeldWatchEndsEmptyAfterItsTimeout) {
  Start();
  const uint64_t known = Revision();
  const auto held = Watch(2, known, 20'000);
  sim_.RunFor(20 * kSecond - kMillisecond);
  EXPECT_FALSE(held->has_value());
  sim_.RunFor(30 * kMillisecond);
  ASSERT_EQ(CodeOf(held), absl::StatusCode::kOk);
  EXPECT_EQ((**held)->get()->reply.jobs_size(), 0);
  EXPECT_EQ((**held)->get()->reply.revision(), known);
}

TEST_F(ControlLoopTest, HeldWatchesEndWhenCancelledReleasedOrTooMany) {
  ControlLoop::Options options;
  options.max_watches = 2;
  Start(options);
  const uint64_t known = Revision();
  const auto cancelled = Watch(2, known, 30'000);
  const auto released = Watch(3, known, 30'000);
  const auto one_more = Watch(4, known, 30'000);
  loop_->CancelWatch(2);
  loop_->CancelWatch(99);
  sim_.RunFor(0);
  EXPECT_EQ(CodeOf(one_more), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(CodeOf(cancelled), absl::StatusCode::kCancelled);
  EXPECT_FALSE(released->has_value());
  loop_->ReleaseWatches();
  const auto late = Watch(5, known, 30'000);
  sim_.RunFor(0);
  EXPECT_EQ(CodeOf(released), absl::StatusCode::kUnavailable);
  EXPECT_EQ(CodeOf(late), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Serving(), HasSubstr("the coordinator is stopping"));
  EXPECT_TRUE(Apply(Tick()).ok());
}

TEST_F(ControlLoopTest, ADestroyedLoopRejectsPendingRequests) {
  Start();
  const auto held = Watch(2, Revision(), 30'000);
  sim_.RunFor(0);
  const auto request = Begin(SubmitOf(SimpleSpec("train")));
  const auto waiting = Watch(3, 0, 0);
  bool read = false;
  EXPECT_TRUE(loop_->Read([&](const CoordinatorState&, Nanos) { read = true; }));
  loop_.reset();
  EXPECT_EQ(CodeOf(held), absl::StatusCode::kUnavailable);
  EXPECT_EQ(CodeOf(waiting), absl::StatusCode::kUnavailable);
  ASSERT_TRUE(request->has_value());
  EXPECT_EQ((*request)->code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(read);
  EXPECT_EQ(store_.Load()->jobs_size(), 0);
  sim_.RunFor(kSecond);  // no task of the loop is left
}

TEST_F(ControlLoopTest, ARequestWhoseDeadlineHasPassedIsNotApplied) {
  Start();
  sim_.RunFor(kSecond);
  EXPECT_EQ(Apply(SubmitOf(SimpleSpec("train")), kSecond - 1).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(store_.Load()->jobs_size(), 0);
}

TEST_F(ControlLoopTest, TooManyWaitingRequestsAreRejectedAtOnce) {
  ControlLoop::Options options;
  options.max_waiting = 0;
  Start(options);
  EXPECT_EQ(Apply(Tick()).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(CodeOf(Watch(1, 0, 0)), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(loop_->Read([](const CoordinatorState&, Nanos) {}));
}

TEST_F(ControlLoopTest, TimePassesForTheStateWithoutARequest) {
  Start();
  EXPECT_TRUE(Apply(WorkerCalled("a")).ok());
  sim_.RunFor(10 * kSecond);
  bool dead = false;
  loop_->Read([&](const CoordinatorState& state, Nanos now) {
    dead = state.Status(now).workers(0).state() == v1::WorkerStatus::DEAD;
  });
  sim_.RunFor(0);
  EXPECT_TRUE(dead);
}

TEST_F(ControlLoopTest, AChangeOfAJobVisitsNoWatcherOfAnotherJob) {
  Start();
  for (const char* job : {"a", "b"}) EXPECT_TRUE(Apply(SubmitOf(SimpleSpec(job))).ok());
  const auto of_a = Follow("a", 1000);
  const auto of_b = Follow("b", 10);
  const uint64_t before = loop_->counts().looked_at;
  v1::CancelRequest cancel;
  cancel.set_job("b");
  EXPECT_TRUE(Apply(cancel).ok());
  EXPECT_EQ(Answered(of_b), 10);
  EXPECT_EQ(Answered(of_a), 0);
  EXPECT_EQ(loop_->counts().looked_at - before, 10u);
}

TEST_F(ControlLoopTest, WatchersWithTheSameStateShareOneAnswer) {
  Start();
  EXPECT_TRUE(Apply(SubmitOf(SimpleSpec("a"))).ok());
  const auto held = Follow("a", 10'000);
  const uint64_t before = loop_->counts().encoded;
  v1::CancelRequest cancel;
  cancel.set_job("a");
  EXPECT_TRUE(Apply(cancel).ok());
  EXPECT_EQ(Answered(held), 10'000);
  EXPECT_EQ(loop_->counts().encoded - before, 1u);
  EXPECT_EQ((**held.front())->get(), (**held.back())->get());
}

TEST_F(ControlLoopTest, PeriodicReportsAreAppliedWithTheNextTickAndVotesAtOnce) {
  Start();
  EXPECT_TRUE(Apply(WorkerCalled("a")).ok());
  v1::ReportSessionRequest report;
  report.set_session_id("s1-1");
  const auto beat = Begin(BeatOf("a")), said = Begin(report);
  sim_.RunFor(0);
  EXPECT_FALSE(beat->has_value() || said->has_value());
  sim_.RunFor(ControlLoop::Options().tick);
  EXPECT_TRUE(beat->has_value() && said->has_value());
  // A session's vote against a worker moves rows.
  report.add_failed_workers("a");
  EXPECT_TRUE(Apply(report).ok());
}

TEST_F(ControlLoopTest, ARequestToAnIdleLoopIsAnsweredAsSoonAsAmongOthers) {
  Start();
  EXPECT_TRUE(Apply(WorkerCalled("a")).ok());
  for (int i = 0; i < 50; ++i) {
    sim_.RunFor(kSecond + i * kMillisecond);
    const auto beat = Begin(BeatOf("a"));
    const auto poll = Watch(static_cast<uint64_t>(100 + i), Revision(), 1);
    sim_.RunFor(ControlLoop::Options().tick + kMillisecond);
    EXPECT_TRUE(beat->has_value() && poll->has_value()) << i;
  }
}

TEST_F(ControlLoopTest, AHeartbeatThatFetchesTasksIsAppliedAtOnce) {
  Start();
  EXPECT_TRUE(Apply(WorkerCalled("a")).ok());
  EXPECT_TRUE(Apply(SubmitOf(SimpleSpec("train"))).ok());
  EXPECT_TRUE(Apply(BeatOf("a")).ok());
  EXPECT_EQ(std::get<v1::HeartbeatReply>(reply_).tasks_size(), 1);
}

TEST_F(ControlLoopTest, AHeartbeatIsAnsweredBetweenWatchersAndNotAfterAll) {
  Start();
  EXPECT_TRUE(Apply(SubmitOf(SimpleSpec("a"))).ok());
  // The first answer sends a heartbeat.
  uint64_t looked_at = 0, before = 0;
  v1::WatchRequest request;
  request.set_job("a");
  request.set_known_revision(Revision());
  request.set_wait_ms(30'000);
  loop_->Watch(1, request, [&](const WatchResult&) {
    loop_->Apply(BeatOf("w"), ControlLoop::kNoDeadline,
                 [&](absl::Status, Reply*) { looked_at = loop_->counts().looked_at - before; });
  });
  const auto held = Follow("a", 10'000);
  before = loop_->counts().looked_at;
  v1::CancelRequest cancel;
  cancel.set_job("a");
  EXPECT_TRUE(Apply(cancel).ok());
  sim_.RunFor(ControlLoop::Options().tick);
  EXPECT_GT(looked_at, 0u);
  EXPECT_LE(looked_at, ControlLoop::Options().watches_at_once);
  EXPECT_EQ(Answered(held), 10'000);
}

TEST_F(ControlLoopTest, ExpiredWatchesAreNotVisitedAndAreAnsweredInBatches) {
  Start();
  EXPECT_TRUE(Apply(SubmitOf(SimpleSpec("a"))).ok());
  const uint64_t known = Revision();
  uint64_t ended = 0;
  // The first answer sends a heartbeat, whose reply comes among the first answers.
  v1::WatchRequest request;
  request.set_job("a");
  request.set_known_revision(known);
  request.set_wait_ms(30'000);
  loop_->Watch(1, request, [&](const WatchResult&) {
    loop_->Apply(BeatOf("w"), ControlLoop::kNoDeadline,
                 [&](absl::Status, Reply*) { ended = loop_->counts().ended_empty; });
  });
  const auto held = Follow("a", 10'000);
  const ControlLoop::Counts before = loop_->counts();
  sim_.RunFor(31 * kSecond);
  EXPECT_EQ(Answered(held), 10'000);
  EXPECT_GT(ended, 0u);
  EXPECT_LE(ended, ControlLoop::Options().watches_at_once);
  EXPECT_EQ(loop_->counts().looked_at, before.looked_at);
  EXPECT_EQ(loop_->counts().encoded, before.encoded);
}

TEST_F(ControlLoopTest, AWatcherThatTimesOutBeforeItsTurnStillGetsTheChange) {
  ControlLoop::Options options;
  options.watches_at_once = 1;
  Start(options);
  EXPECT_TRUE(Apply(SubmitOf(SimpleSpec("a"))).ok());
  const auto held = Follow("a", 50);
  sim_.RunFor(29 * kSecond);
  EXPECT_EQ(Answered(held), 0);
  v1::CancelRequest cancel;
  cancel.set_job("a");
  // The coordinator stops right after the change, until all watchers have timed out.
  loop_->Apply(cancel, ControlLoop::kNoDeadline, [&](absl::Status, Reply*) { sim_.clock()->Pause(2 * kSecond); });
  sim_.RunFor(3 * kSecond);
  EXPECT_EQ(Answered(held), 50);
  for (const auto& reply : held) {
    ASSERT_EQ(CodeOf(reply), absl::StatusCode::kOk);
    EXPECT_EQ((**reply)->get()->reply.jobs_size(), 1);
  }
}

// Many requests at once, in an order that the seed draws: one seed is one run.
uint64_t RunOfManyRequests(uint64_t seed) {
  SimScheduler sim(seed);
  support::FakeStore store;
  ControlLoop loop(*CoordinatorState::Restore({}, 0, 1, v1::StoredState()), &store, 0, &sim, {});
  std::string log;
  for (int i = 0; i < 20; ++i) {
    sim.PostAt(static_cast<Nanos>(sim.Draw(kSecond)), [&, i] {
      loop.Apply(WorkerCalled("w" + std::to_string(i)), ControlLoop::kNoDeadline,
                 [&log, i](absl::Status, Reply*) { log += std::to_string(i) + " "; });
    });
  }
  sim.RunFor(2 * kSecond);
  return Hash64(log) ^ sim.order_hash();
}

TEST(ControlLoopRuns, EqualSeedsGiveEqualRuns) {
  EXPECT_EQ(RunOfManyRequests(1), RunOfManyRequests(1));
  EXPECT_NE(RunOfManyRequests(1), RunOfManyRequests(2));
}

}  // namespace
}  // namespace penstock::coordinator
