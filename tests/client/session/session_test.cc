// The whole session, in one thread on virtual time.
#include "client/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "tests/client/fakes/sim_session.h"

namespace penstock::client {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;

Misbehavior CannotRead(const char* why) {
  Misbehavior how;
  for (uint64_t row = 0; row < 100; ++row) how.failing[row] = absl::UnavailableError(why);
  return how;
}

// Three workers: one dies and returns, one joins late, and the coordinator is away for a while.
uint64_t RunThroughFaults(uint64_t seed) {
  SimSession sim(seed, 3);
  sim.coordinator->SetView({sim.Views()[0], sim.Views()[1]});
  EXPECT_TRUE(sim.Open(sim.options(20)).ok());
  EXPECT_EQ(sim.Read(5 * kSecond, 30), 30) << sim.end;
  sim.transport.StopListening("w1");
  sim.workers[1]->BreakAll();
  EXPECT_EQ(sim.Read(5 * kSecond, 30), 30) << sim.end;
  sim.coordinator->SetView(sim.Views());
  sim.coordinator->SetAway(true);
  EXPECT_EQ(sim.Read(5 * kSecond, 60), 60) << sim.end;
  sim.transport.Listen("w1", sim.workers[1].get());
  sim.coordinator->SetAway(false);
  EXPECT_EQ(sim.Read(5 * kSecond), 120) << sim.end;
  EXPECT_EQ(sim.end.code(), absl::StatusCode::kOutOfRange);
  EXPECT_GT(sim.session->Stats().broken_streams, 0u);
  return sim.scheduler.order_hash();
}

TEST(SessionOnVirtualTime, DeliversEveryRowThroughFaultsInEveryOrder) {
  for (uint64_t seed = 1; seed <= 40; ++seed) RunThroughFaults(seed);
}

TEST(SessionOnVirtualTime, EqualSeedsGiveEqualRuns) {
  EXPECT_EQ(RunThroughFaults(7), RunThroughFaults(7));
  EXPECT_NE(RunThroughFaults(7), RunThroughFaults(8));
}

TEST(SessionStats, AMaskedOrSubstitutedRowCountsOnceWhenItsStepIsRead) {
  SimSession sim(1, 2);
  for (auto& worker : sim.workers) {
    Misbehavior how;
    how.masked = {2, 9, 25};
    how.substituted = {{3, 77}, {12, 5}, {26, 6}};
    how.twice = true;
    worker->Behave(how);
  }
  ASSERT_TRUE(sim.Open(sim.options()).ok());
  for (int step = 0; step < 2; ++step) {
    const auto batch = sim.Next(5 * kSecond);
    ASSERT_TRUE(batch.has_value() && batch->ok());
  }
  sim.scheduler.RunFor(5 * kSecond);  // prefetched rows arrive twice
  EXPECT_GT(sim.session->Stats().duplicate_rows, 0u);
  EXPECT_EQ(sim.session->Stats().masked_rows, 2u);
  EXPECT_EQ(sim.session->Stats().substituted_rows, 2u);
  ASSERT_TRUE(sim.Next(5 * kSecond).has_value());
  ASSERT_TRUE(sim.Next(5 * kSecond).has_value());
  EXPECT_EQ(sim.session->Stats().masked_rows, 3u);
  EXPECT_EQ(sim.session->Stats().substituted_rows, 3u);
}

TEST(SessionWaits, AreReportedWithinFiveSeconds) {
  SimSession sim(1, 2);
  for (auto& worker : sim.workers) worker->Behave(CannotRead("/data/train-00003: No such file or directory"));
  std::vector<std::string> told;
  ReaderOptions options = sim.options();
  options.on_wait = [&](const std::string& text) { told.push_back(text); };
  ASSERT_TRUE(sim.Open(options).ok());
  EXPECT_FALSE(sim.Next(2 * kSecond).has_value());
  EXPECT_THAT(told, IsEmpty()) << "a short wait is not reported";
  EXPECT_FALSE(sim.Next(3 * kSecond).has_value());
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0], HasSubstr("waiting 3 s"));
  EXPECT_THAT(told[0], HasSubstr("/data/train-00003: No such file"));
  // The report names the cause too, and counts the wait while it lasts.
  const v1::ReportSessionRequest report = sim.coordinator->reports().back();
  EXPECT_THAT(report.waiting_for(), HasSubstr("/data/train-00003: No such file"));
  EXPECT_GT(report.wait_fraction(), 0.9);
  EXPECT_GE(sim.session->Stats().waited, absl::Seconds(4.9));
  // Notices follow after 30 s, 1, 2 and 4 minutes, and then every 4 minutes.
  EXPECT_FALSE(sim.Next(600 * kSecond).has_value());
  std::vector<std::string> times;
  for (const std::string& text : told) {
    times.push_back(text.substr(0, text.find(':')));
    EXPECT_LE(text.size(), 160u) << text;
    EXPECT_EQ(text.find(';'), std::string::npos) << text;
  }
  EXPECT_THAT(times, ElementsAre("waiting 3 s", "waiting 30 s", "waiting 60 s", "waiting 120 s", "waiting 240 s",
                                 "waiting 480 s"));
  // The file exists again.
  for (auto& worker : sim.workers) worker->Behave({});
  EXPECT_EQ(sim.Read(5 * kSecond, 3), 3) << sim.end;
  const size_t reports = sim.coordinator->reports().size();
  // By then the session knows which workers the trainer waited for.
  sim.scheduler.RunFor(2 * kSecond);
  ASSERT_EQ(told.size(), 7u);
  EXPECT_THAT(told.back(), MatchesRegex("rows arrive again after 60[0-9] s"));
  const size_t before = told.size();
  const v1::SessionTimes& measured = sim.coordinator->reports().back().times();
  EXPECT_GT(measured.waited_seconds(), 600);
  EXPECT_EQ(measured.steps(), 3u);
  double on_workers = 0;
  for (const v1::WaitedOn& on : measured.waited_on()) on_workers += on.worker()[0] == 'w' ? on.seconds() : 0;
  EXPECT_NEAR(on_workers, measured.waited_seconds(), 1e-6);
  sim.scheduler.RunFor(18 * kSecond);  // the trainer computes
  EXPECT_EQ(told.size(), before);
  for (size_t i = reports + 1; i < sim.coordinator->reports().size(); ++i) {
    EXPECT_EQ(sim.coordinator->reports()[i].waiting_for(), "");
    EXPECT_EQ(sim.coordinator->reports()[i].wait_fraction(), 0);
  }
}

TEST(SessionWaits, FileErrorsOfTheCoordinatorAreReportedAtOnceAndNotAfterTheirEnd) {
  SimSession sim(1, 1);
  sim.workers[0]->Behave({.silent = true});
  std::vector<std::string> told;
  ReaderOptions options = sim.options();
  options.on_wait = [&](const std::string& text) { told.push_back(text); };
  ASSERT_TRUE(sim.Open(options).ok());
  EXPECT_FALSE(sim.Next(4 * kSecond).has_value());
  ASSERT_EQ(told.size(), 1u);
  sim.coordinator->SetFileErrors({"Worker w0: s3://b/a: nothing comes from host:9000; for 4 s"});
  EXPECT_FALSE(sim.Next(3 * kSecond).has_value());
  ASSERT_EQ(told.size(), 2u) << "at once, not only with the next notice";
  EXPECT_THAT(told[1], MatchesRegex("waiting [4-7] s: Worker w0: s3://b/a: nothing comes from host:9000"));
  sim.coordinator->SetFileErrors({});
  EXPECT_FALSE(sim.Next(25 * kSecond).has_value());
  ASSERT_EQ(told.size(), 3u);
  EXPECT_THAT(told.back(), Not(HasSubstr("host:9000"))) << "the error has ended";
}

TEST(SessionWaits, ASlowTrainerCausesNoNotice) {
  SimSession sim(1, 1);
  int told = 0;
  ReaderOptions options = sim.options(0);
  options.on_wait = [&](const std::string&) { ++told; };
  ASSERT_TRUE(sim.Open(options).ok());
  for (int i = 0; i < 20; ++i) {
    sim.scheduler.RunFor(5 * kSecond);
    EXPECT_EQ(sim.Read(kSecond, 1), 1);
  }
  EXPECT_EQ(told, 0);
}

// The whole world stops. For the trainer this equals its own stop: messages of that time arrive after it.
TEST(SessionWaits, AStoppedTrainerReportsNoWorkerAsSilent) {
  SimSession sim(1, 2);
  std::vector<std::string> told;
  ReaderOptions options = sim.options();
  options.on_wait = [&](const std::string& text) { told.push_back(text); };
  ASSERT_TRUE(sim.Open(options).ok());
  sim.workers[1]->Behave({.accepts_only = true});
  sim.scheduler.PostAt(sim.now() + 900 * kMillisecond, [&] { sim.scheduler.clock()->Pause(20 * kSecond); });
  EXPECT_FALSE(sim.Next(21 * kSecond).has_value());
  EXPECT_THAT(told, IsEmpty());
  EXPECT_EQ(sim.session->Stats().fetched_rows, 0u);
  EXPECT_LT(sim.session->Stats().waited, absl::Seconds(3));
  for (const v1::ReportSessionRequest& report : sim.coordinator->reports()) {
    EXPECT_THAT(report.failed_workers(), IsEmpty());
    EXPECT_EQ(report.waiting_for(), "");
  }
  // The session still notices a worker that stays silent.
  EXPECT_EQ(sim.Read(5 * kSecond, 1), 1) << sim.end;
  EXPECT_GT(sim.session->Stats().fetched_elsewhere, 0u);
}

TEST(SessionStreams, ASilentStreamIsClosedWithinSeconds) {
  SimSession sim(1, 2);
  sim.workers[1]->Behave({.silent = true});  // accepts the connection and then does nothing
  ASSERT_TRUE(sim.Open(sim.options()).ok());
  const Nanos begin = sim.now();
  EXPECT_EQ(sim.Read(5 * kSecond, 1), 1) << sim.end;
  sim.scheduler.RunFor(begin + 5 * kSecond - sim.now());
  EXPECT_GT(sim.session->Stats().broken_streams, 0u);
  EXPECT_THAT(sim.coordinator->reports().back().failed_workers(), Contains("w1"));
  EXPECT_EQ(sim.Read(5 * kSecond), 11) << sim.end;
}

// Each stream's messages reach the worker after a delay, as with a slow resolution of the worker's name.
class LateWorker final : public transport::StreamAcceptor {
 public:
  LateWorker(SimScheduler* scheduler, transport::StreamAcceptor* worker, Nanos delay)
      : scheduler_(scheduler), worker_(worker), delay_(delay) {}

  std::shared_ptr<transport::StreamEvents> Accept(std::shared_ptr<transport::MessageStream> stream) override {
    return std::make_shared<Late>(scheduler_, worker_->Accept(std::move(stream)), scheduler_->clock()->Now() + delay_);
  }

 private:
  class Late final : public transport::StreamEvents {
   public:
    Late(SimScheduler* scheduler, std::shared_ptr<transport::StreamEvents> events, Nanos connected_at)
        : scheduler_(scheduler), events_(std::move(events)), connected_at_(connected_at) {}

    void OnMessage(transport::SliceList message) override {
      scheduler_->PostAt(
          std::max(connected_at_, scheduler_->clock()->Now()),
          [events = events_, message = std::move(message)]() mutable { events->OnMessage(std::move(message)); });
    }
    void OnWritten() override { events_->OnWritten(); }
    void OnClosed(const absl::Status& status) override {
      scheduler_->PostAt(std::max(connected_at_, scheduler_->clock()->Now()),
                         [events = events_, status] { events->OnClosed(status); });
    }

   private:
    SimScheduler* const scheduler_;
    const std::shared_ptr<transport::StreamEvents> events_;
    const Nanos connected_at_;
  };

  SimScheduler* const scheduler_;
  transport::StreamAcceptor* const worker_;
  const Nanos delay_;
};

TEST(SessionStreams, AWorkerWhoseNameResolvesSlowlyIsReached) {
  SimSession sim(1, 1);
  LateWorker late(&sim.scheduler, sim.workers[0].get(), 20 * kSecond);
  sim.transport.Listen("w0", &late);
  ASSERT_TRUE(sim.Open(sim.options()).ok());
  EXPECT_EQ(sim.Read(60 * kSecond), 12) << sim.end;
}

TEST(SessionStreams, ASilentOnlyWorkerIsNamed) {
  SimSession sim(1, 1);
  sim.workers[0]->Behave({.silent = true});
  std::vector<std::string> told;
  ReaderOptions options = sim.options();
  options.on_wait = [&](const std::string& text) { told.push_back(text); };
  ASSERT_TRUE(sim.Open(options).ok());
  EXPECT_FALSE(sim.Next(31 * kSecond).has_value());
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[1], "waiting 30 s: worker w0 at w0: it does not answer: it cannot be reached, hangs, or is no worker");
  // The session retries until the worker answers. The stream that was open in the meantime had up to 24 s.
  sim.workers[0]->Behave({});
  EXPECT_EQ(sim.Read(24 * kSecond), 12) << sim.end;
}

TEST(SessionStreams, ARejectionCausedByAViewChangeWakesTheTrainer) {
  SimSession sim(1, 2);
  sim.workers[0]->Behave({.refuse = absl::ResourceExhaustedError("a step takes 900 bytes, 400 are free")});
  sim.workers[1]->Behave({.accepts_only = true});
  ASSERT_TRUE(sim.Open(sim.options()).ok());
  EXPECT_FALSE(sim.Next(20 * kSecond).has_value());
  sim.coordinator->SetView({sim.Views()[0]});
  const auto next = sim.Next(50 * kMillisecond);
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->status().code(), absl::StatusCode::kResourceExhausted) << next->status();
}

TEST(SessionReports, AReaderThatLostItsRankEndsWithTheReason) {
  SimSession sim(1, 1);
  ASSERT_TRUE(sim.Open(sim.options(0)).ok());
  EXPECT_EQ(sim.Read(kSecond, 3), 3);
  sim.coordinator->GiveRankAway(absl::AlreadyExistsError("rank 1 of 4 has another reader that is alive"));
  sim.scheduler.RunUntil([] { return false; }, sim.now() + 4 * kSecond);
  sim.Read(kSecond, 100);
  EXPECT_EQ(sim.end.code(), absl::StatusCode::kAlreadyExists) << sim.end;
  const size_t reports = sim.coordinator->reports().size();
  sim.scheduler.RunUntil([] { return false; }, sim.now() + 4 * kSecond);
  EXPECT_EQ(sim.coordinator->reports().size(), reports);
}

TEST(SessionReports, ComeAtTheCoordinatorsRateAndAtLeastEachFiveSeconds) {
  SimSession sim(1, 1);
  ASSERT_TRUE(sim.Open(sim.options(0)).ok());
  const auto reports_in = [&](Nanos time) {
    const size_t before = sim.coordinator->reports().size();
    sim.scheduler.RunFor(time);
    return static_cast<double>(sim.coordinator->reports().size() - before);
  };
  EXPECT_NEAR(reports_in(10 * kSecond), 10, 1) << "the coordinator names no rate";
  sim.coordinator->WantReportIn(2000);
  reports_in(2 * kSecond);
  EXPECT_NEAR(reports_in(20 * kSecond), 10, 1);
  sim.coordinator->WantReportIn(4'000'000'000);
  reports_in(5 * kSecond);
  EXPECT_NEAR(reports_in(50 * kSecond), 10, 1);
}

TEST(SessionClose, EndsStreamsAndTheSession) {
  SimSession sim(1, 2);
  ASSERT_TRUE(sim.Open(sim.options(0)).ok());
  EXPECT_EQ(sim.Read(kSecond, 3), 3);
  EXPECT_EQ(sim.coordinator->open_sessions(), 1);
  bool closed = false;
  sim.session->Close([&] { closed = true; });
  EXPECT_TRUE(sim.scheduler.RunUntil([&] { return closed; }, sim.now() + kSecond));
  EXPECT_EQ(sim.coordinator->open_sessions(), 0);
  sim.session.reset();
  sim.scheduler.RunFor(kSecond);
  EXPECT_EQ(sim.workers[0]->open_streams() + sim.workers[1]->open_streams(), 0);
  EXPECT_EQ(sim.scheduler.waiting(), 0u) << "no task is left";
}

TEST(SessionClose, TakesAtMostHalfASecondIfThePeersDoNotAnswer) {
  SimSession sim(1, 1);
  ASSERT_TRUE(sim.Open(sim.options(0)).ok());
  EXPECT_EQ(sim.Read(kSecond, 3), 3);
  sim.coordinator->SetDeaf(true);
  bool closed = false;
  sim.session->Close([&] { closed = true; });
  EXPECT_TRUE(sim.scheduler.RunUntil([&] { return closed; }, sim.now() + 500 * kMillisecond));
}

TEST(SessionClose, IsNotRequiredBeforeDestruction) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SimSession sim(seed, 2);
    ASSERT_TRUE(sim.Open(sim.options(0)).ok());
    for (uint64_t i = 0; i < seed * 3; ++i) sim.scheduler.RunOne();
    sim.session.reset();
    sim.scheduler.RunFor(10 * kSecond);
    EXPECT_EQ(sim.workers[0]->open_streams() + sim.workers[1]->open_streams(), 0) << seed;
  }
}

}  // namespace
}  // namespace penstock::client
