// Caps and pauses of jobs in a loader, on virtual time: what a capped job gets, and that other jobs lose nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/loader/loader.h"
#include "tests/pipeline/loader/loader_testing.h"

namespace penstock::loader {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class JobCapsTest : public ::testing::Test {
 protected:
  static constexpr int kRecords = 6000;

  // A job whose rows take a millisecond of a maker.
  MemoryJob MakeJob() {
    MemoryJob job = MakeMemoryJob(kRecords, 20, 16);
    job.pipeline->on_make = [this](uint64_t) {
      sim_.clock()->Pause(kMillisecond);
      return absl::OkStatus();
    };
    return job;
  }
  JobCapsTest() {
    LoaderOptions options = OptionsIn(&sim_);
    options.threads = 1;
    options.memory_budget_bytes = 64 << 20;
    options.step_time = [](MakerStep) { return Nanos{0}; };  // each step is a task
    auto loader = Loader::Create(options);
    PS_CHECK(loader.ok());
    loader_ = *std::move(loader);
  }
  void TearDown() override {
    for (const auto& session : sessions_) session->Close([] {});
    sim_.RunAll();
    sessions_.clear();
    loader_.reset();
  }
  Loader::Session* Open(const MemoryJob& job, const JobCaps& caps, RowSink* sink) {
    auto session = loader_->OpenSession(job.job, {.largest_step_rows = 10, .caps = caps}, sink);
    PS_CHECK(session.ok());
    return sessions_.emplace_back(*std::move(session)).get();
  }

  SimScheduler sim_{1};
  HoldingSink sinks_[3];
  std::unique_ptr<Loader> loader_;
  std::vector<std::unique_ptr<Loader::Session>> sessions_;
};

TEST_F(JobCapsTest, OfTwoBusyJobsTheCappedOneGetsItsShareAndTheOtherTheRest) {
  const MemoryJob capped = MakeJob(), other = MakeJob();
  HoldingSink &few = sinks_[0], &many = sinks_[1];
  auto first = Open(capped, {.cpu_share = 0.25}, &few);
  auto second = Open(other, {}, &many);
  first->Request(RowsOf(0, kRecords, 10));
  second->Request(RowsOf(0, kRecords, 10));
  sim_.RunFor(4 * kSecond);
  const double all = static_cast<double>(few.held() + many.held());
  EXPECT_NEAR(static_cast<double>(few.held()) / all, 0.25, 0.02);
  EXPECT_GE(all, 3900);  // no maker was idle
}

TEST_F(JobCapsTest, ACappedJobAloneLeavesTheRestIdle) {
  const MemoryJob capped = MakeJob();
  HoldingSink& sink = sinks_[0];
  auto session = Open(capped, {.cpu_share = 0.25}, &sink);
  session->Request(RowsOf(0, kRecords, 10));
  sim_.RunFor(4 * kSecond);
  EXPECT_NEAR(static_cast<double>(sink.held()), 1000, 60);
  const JobTimes times = loader_->Jobs().at(0);
  EXPECT_NEAR(times.capped_seconds, 3, 0.2);
  EXPECT_NEAR(times.held_seconds, 3, 0.2);
  EXPECT_LT(times.memory_seconds + times.storage_seconds + times.unrequested_seconds, 0.1);
}

TEST_F(JobCapsTest, TimeCountsAsHeldIfRowsOfAnySessionAreHeld) {
  const MemoryJob capped = MakeJob();
  HoldingSink &sink = sinks_[0], &idle = sinks_[1];
  Loader::Session* const session = Open(capped, {.cpu_share = 0.25}, &sink);
  Open(capped, {.cpu_share = 0.25}, &idle);  // it requests nothing
  session->Request(RowsOf(0, kRecords, 10));
  sim_.RunFor(4 * kSecond);
  EXPECT_NEAR(loader_->Jobs().at(0).held_seconds, 3, 0.2);
  // A session that has closed holds nothing.
  session->Close([] {});
  sessions_.erase(sessions_.begin());
  sim_.RunFor(100 * kSecond);
  Loader::Session* const next = Open(capped, {.cpu_share = 0.25}, &sink);
  next->Request(RowsOf(0, 10, 10));
  sim_.RunFor(kSecond);
  EXPECT_NEAR(loader_->Jobs().at(0).held_seconds, 3, 0.3);
}

TEST_F(JobCapsTest, SessionsOfAJobShareItsCap) {
  const MemoryJob capped = MakeJob();
  HoldingSink &one = sinks_[0], &two = sinks_[1];
  auto first = Open(capped, {.cpu_share = 0.25}, &one);
  auto second = Open(capped, {.cpu_share = 0.25}, &two);
  first->Request(RowsOf(0, kRecords, 10));
  second->Request(RowsOf(0, kRecords, 10));
  sim_.RunFor(4 * kSecond);
  EXPECT_NEAR(static_cast<double>(one.held() + two.held()), 1000, 60);
}

TEST_F(JobCapsTest, RequestsToStorageAreThrottled) {
  MemoryJob capped = MakeMemoryJob(kRecords, 20, 16);
  HoldingSink& sink = sinks_[0];
  auto session = Open(capped, {.requests_per_second = 100}, &sink);
  session->Request(RowsOf(0, kRecords, 10));
  sim_.RunFor(10 * kSecond);
  EXPECT_NEAR(capped.dataset->reads.load(), 1000, 30);
}

TEST_F(JobCapsTest, APausedJobStartsNoRowAndContinuesWhereItWas) {
  const MemoryJob paused = MakeJob(), other = MakeJob();
  HoldingSink &sink = sinks_[0], &others = sinks_[1];
  auto first = Open(paused, {}, &sink);
  auto second = Open(other, {}, &others);
  first->Request(RowsOf(0, kRecords, 10));
  first->SetHead(0);  // urgent rows too
  second->Request(RowsOf(0, kRecords, 10));
  sim_.RunFor(kSecond);
  paused.job->paused() = true;
  loader_->PausesChanged();
  const size_t before = sink.held();
  sim_.RunFor(kSecond);
  EXPECT_LE(sink.held(), before + 1);  // a row in progress
  EXPECT_GE(others.held(), 1400u);
  // A reader that opens meanwhile gets no row either.
  HoldingSink& late = sinks_[2];
  auto third = Open(paused, {}, &late);
  third->Request(RowsOf(0, 100, 10));
  sim_.RunFor(kSecond);
  EXPECT_EQ(late.held(), 0u);
  paused.job->paused() = false;
  loader_->PausesChanged();
  EXPECT_TRUE(sim_.RunUntil([&] { return sink.held() == kRecords && late.held() == 100; }, 60 * kSecond));
}

TEST_F(JobCapsTest, APausedSessionCloses) {
  const MemoryJob paused = MakeJob();
  HoldingSink& sink = sinks_[0];
  paused.job->paused() = true;
  auto session = Open(paused, {}, &sink);
  session->Request(RowsOf(0, kRecords, 10));
  sim_.RunFor(kSecond);
  bool closed = false;
  session->Close([&] { closed = true; });
  sim_.RunAll();
  EXPECT_TRUE(closed);
  sessions_.clear();
  EXPECT_EQ(sink.held(), 0u);
}

TEST_F(JobCapsTest, ASessionAboveTheMemoryCapIsRejectedWithTheNumbers) {
  const MemoryJob job = MakeMemoryJob(400, 100, 1000);
  HoldingSink &sink = sinks_[0], &second = sinks_[1];
  const LoaderSessionOptions options = {.largest_step_rows = 10, .caps = {.memory_bytes = 20'000}};
  Open(job, options.caps, &sink);
  const auto rejected = loader_->OpenSession(job.job, options, &second);
  EXPECT_EQ(rejected.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(rejected.status().message()),
              AllOf(HasSubstr("20000 bytes"), HasSubstr("caps.memory_bytes")));
  // Its rows so far do not count for another job.
  const MemoryJob other = MakeMemoryJob(400, 100, 1000);
  Open(other, options.caps, &second);
}

TEST_F(JobCapsTest, RowsStayWithinTheMemoryCapAndEachStepArrives) {
  const MemoryJob capped = MakeMemoryJob(400, 100, 1000), other = MakeMemoryJob(400, 100, 1000);
  HoldingSink &sink = sinks_[0], &others = sinks_[1];
  auto first = Open(capped, {.memory_bytes = 20'000}, &sink);
  sink.session = first;
  auto second = Open(other, {}, &others);
  first->Request(RowsOf(0, 400, 10));
  second->Request(RowsOf(0, 400, 10));
  for (uint64_t step = 0; step < 40; ++step) {
    first->SetHead(step);
    sink.KeepUpTo(step);
    first->NowRevocable();
    sim_.RunAll();
    EXPECT_LE(sink.held(), 20u);
    ASSERT_GE(sink.held(), 10u) << "step " << step;
    EXPECT_EQ(sink.TakeStep(step, 10).size(), 10u);
  }
  EXPECT_EQ(others.held(), 400u);  // it waited for none of the capped job's rows
}

}  // namespace
}  // namespace penstock::loader
