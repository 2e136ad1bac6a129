// Workers join, die, drain and return, and views follow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/server/coordinator/state_harness.h"

namespace penstock::coordinator {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using State = v1::WorkerStatus;
using Ids = std::set<std::string>;

v1::DrainRequest DrainOf(const std::string& id) {
  v1::DrainRequest request;
  request.set_worker(id);
  return request;
}

TEST(CoordinatorWorkers, TheStatusHasAWorkersFindingsAndItsClock) {
  StateOptions options;
  options.unix_ms = [] { return int64_t{1'780'000'000'000}; };
  StateHarness h(options);
  h.Register("a");
  v1::HeartbeatRequest beat = BeatOf("a");
  beat.set_unix_ms(1'779'999'997'500);
  for (int i = 0; i < 100; ++i) beat.add_findings()->set_message(std::string(5000, 'x'));
  beat.mutable_findings(0)->set_fault(true);
  h.Do<v1::HeartbeatReply>(beat);
  v1::WorkerStatus worker = h.Worker("a");
  EXPECT_EQ(worker.clock_ahead_ms(), -2500);
  ASSERT_EQ(worker.findings_size(), 64);
  EXPECT_TRUE(worker.findings(0).fault());
  EXPECT_EQ(worker.findings(1).message().size(), 768u);
  // An earlier release sends no time.
  h.Beat("a");
  worker = h.Worker("a");
  EXPECT_EQ(worker.clock_ahead_ms(), 0);
  EXPECT_EQ(worker.findings_size(), 0);
  h.Do<v1::HeartbeatReply>(beat);
  h.Pass(4 * kSecond, {});
  EXPECT_EQ(h.Worker("a").state(), State::DEAD);
  EXPECT_EQ(h.Worker("a").findings_size(), 0) << "the findings of a dead worker are old";
}

TEST(CoordinatorWorkers, ANewWorkerGetsRangesAndADeadOneLosesThem) {
  StateHarness h;
  h.Register("a");
  h.Prepare("train", {"a"});
  EXPECT_EQ(h.OwnersOf("train"), Ids{"a"});
  const uint64_t first = h.Job("train").view().number();
  h.Register("b");
  EXPECT_EQ(h.OwnersOf("train"), (Ids{"a", "b"}));
  EXPECT_EQ(h.Job("train").view().number(), first + 1);
  h.Pass(4 * kSecond, {"b"});
  EXPECT_EQ(h.OwnersOf("train"), Ids{"b"});
  EXPECT_EQ(h.Worker("a").state(), State::DEAD);
  EXPECT_EQ(h.Worker("b").owned_records(), StateHarness::kShards * StateHarness::kRecords);
  // The worker was only slow: it sends heartbeats again.
  h.Beat("a");
  EXPECT_EQ(h.OwnersOf("train"), (Ids{"a", "b"}));
}

TEST(CoordinatorWorkers, AWorkersFileErrorsAreShownAndBounded) {
  StateHarness h;
  h.Register("a");
  v1::HeartbeatRequest beat = BeatOf("a");
  for (int i = 0; i < 1000; ++i)
    beat.mutable_load()->add_troubles("file " + std::to_string(i) + std::string(5000, 'x'));
  h.Do<v1::HeartbeatReply>(beat);
  const v1::WorkerLoad load = h.Worker("a").load();
  ASSERT_EQ(load.troubles_size(), 16);
  EXPECT_THAT(load.troubles(0), ::testing::StartsWith("file 0x"));
  EXPECT_LE(load.troubles(0).size(), 1024u);
  EXPECT_EQ(load.troubles(15), "and 985 more like these");
  h.Beat("a");
  EXPECT_EQ(h.Worker("a").load().troubles_size(), 0);
  // A worker that has left blocks no job: the coordinator drops its load.
  beat.mutable_load()->set_rows_per_second(100);
  beat.set_leaving(true);
  h.Do<v1::HeartbeatReply>(beat);
  EXPECT_EQ(h.Worker("a").load().troubles_size(), 0);
  EXPECT_EQ(h.Worker("a").load().rows_per_second(), 0);
}

TEST(CoordinatorWorkers, AViewGetsANewNumberOnlyWhenItChanges) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  const v1::Job job = h.Prepare("train", {"a", "b"});
  h.Pass(20 * kSecond, {"a", "b"});
  h.Do<v1::RegisterWorkerReply>(WorkerCalled("a"));
  EXPECT_EQ(h.Job("train").view().SerializeAsString(), job.view().SerializeAsString());
}

TEST(CoordinatorWorkers, AnUnknownWorkerRegistersAgain) {
  StateHarness h;
  EXPECT_TRUE(h.Beat("a").register_again());
  h.Register("a");
  EXPECT_FALSE(h.Beat("a").register_again());
  EXPECT_TRUE(h.Do<v1::HeartbeatReply>(BeatOf("a", 2)).register_again());
}

TEST(CoordinatorWorkers, InvalidRegistrationsAreRejected) {
  StateOptions options;
  options.max_workers = 1;
  StateHarness h(options);
  EXPECT_EQ(h.StatusOf(WorkerCalled("")).code(), absl::StatusCode::kInvalidArgument);
  v1::RegisterWorkerRequest worker = WorkerCalled("a");
  worker.clear_address();
  EXPECT_EQ(h.StatusOf(worker).code(), absl::StatusCode::kInvalidArgument);
  worker = WorkerCalled("a");
  worker.add_roots(std::string(70000, 'r'));
  EXPECT_EQ(h.StatusOf(worker).code(), absl::StatusCode::kInvalidArgument);
  h.Register("a");
  EXPECT_EQ(h.StatusOf(WorkerCalled("b")).code(), absl::StatusCode::kResourceExhausted);
}

TEST(CoordinatorWorkers, ANewAddressReachesTheView) {
  StateHarness h;
  h.Register("a");
  h.Prepare("train", {"a"});
  v1::RegisterWorkerRequest again = WorkerCalled("a", 2);
  again.set_address("a.example:9999");
  h.Do<v1::RegisterWorkerReply>(again);
  EXPECT_EQ(h.Job("train").view().workers(0).address(), "a.example:9999");
  EXPECT_EQ(h.OwnersOf("train"), Ids{"a"});
}

TEST(CoordinatorWorkers, ADrainedWorkerLosesItsRangesFirstAndLeavesAtItsOwnRequest) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  h.Prepare("train", {"a", "b"});
  v1::WatchRequest workers;
  workers.set_known_revision(h.state->revision());
  h.Do<v1::DrainReply>(DrainOf("a"));
  EXPECT_TRUE(h.state->Watch(workers)->has_value());
  EXPECT_EQ(h.OwnersOf("train"), Ids{"b"});
  EXPECT_EQ(h.Worker("a").state(), State::DRAINING);
  EXPECT_TRUE(h.Beat("a").drain());
  EXPECT_EQ(h.Worker("a").state(), State::DRAINING);
  v1::HeartbeatRequest last = BeatOf("a");
  last.set_leaving(true);
  h.Do<v1::HeartbeatReply>(last);
  EXPECT_EQ(h.Worker("a").state(), State::LEFT);
  EXPECT_EQ(h.StatusOf(DrainOf("a")).code(), absl::StatusCode::kFailedPrecondition);
  const absl::Status unknown = h.StatusOf(DrainOf("c"));
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("there are: b"));
  // A new process of the same worker is a live one.
  h.Do<v1::RegisterWorkerReply>(WorkerCalled("a", 2));
  EXPECT_EQ(h.OwnersOf("train"), (Ids{"a", "b"}));
  EXPECT_FALSE(h.Do<v1::HeartbeatReply>(BeatOf("a", 2)).drain());
}

TEST(CoordinatorWorkers, AWorkerThatHasLeftHasNoRateAfterRepeatedHeartbeats) {
  StateHarness h;
  h.Register("a");
  v1::HeartbeatRequest last = BeatOf("a");
  last.set_leaving(true);
  last.mutable_load()->set_rows_per_second(500);
  last.mutable_load()->set_sessions(2);
  for (int i = 0; i < 2; ++i) {
    h.Do<v1::HeartbeatReply>(last);
    EXPECT_EQ(h.Worker("a").state(), v1::WorkerStatus::LEFT);
    EXPECT_EQ(h.Worker("a").load().rows_per_second(), 0);
    EXPECT_EQ(h.Worker("a").load().sessions(), 0u);
  }
}

TEST(CoordinatorWorkers, AWorkerMayStartItsOwnDrain) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  h.Prepare("train", {"a", "b"});
  v1::HeartbeatRequest beat = BeatOf("a");
  beat.set_draining(true);
  h.Do<v1::HeartbeatReply>(beat);
  EXPECT_EQ(h.OwnersOf("train"), Ids{"b"});
  EXPECT_EQ(h.Worker("a").state(), State::DRAINING);
}

TEST(CoordinatorWorkers, TheLastWorkerKeepsItsRangesWhileItDrainsAndAfter) {
  StateHarness h;
  h.Register("a");
  const v1::View view = h.Prepare("train", {"a"}).view();
  h.Do<v1::DrainReply>(DrainOf("a"));
  EXPECT_EQ(h.Job("train").view().SerializeAsString(), view.SerializeAsString());
  EXPECT_THAT(h.Job("train").waiting(), HasSubstr("no worker is live"));
  h.Pass(10 * kSecond, {});
  EXPECT_EQ(h.Job("train").view().SerializeAsString(), view.SerializeAsString());
  h.Do<v1::RegisterWorkerReply>(WorkerCalled("a", 2));
  EXPECT_EQ(h.Job("train").view().SerializeAsString(), view.SerializeAsString());
  EXPECT_EQ(h.Job("train").waiting(), "");
}

TEST(CoordinatorWorkers, WorkersOfAnotherDigestGetNoRangesAndTheStatusNotesIt) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  h.Prepare("train", {"a", "b"});
  v1::RegisterWorkerRequest other = WorkerCalled("c");
  other.set_conformance_digest("d2");
  h.Do<v1::RegisterWorkerReply>(other);
  EXPECT_EQ(h.OwnersOf("train"), (Ids{"a", "b"}));
  EXPECT_THAT(h.Worker("c").note(), HasSubstr("conformance digest d2"));
  EXPECT_EQ(h.Worker("a").note(), "");
  h.Pass(5 * kSecond, {"c"});
  EXPECT_THAT(h.JobStatus("train").waiting(), HasSubstr("conformance digest"));
  // A preparation whose workers are gone starts again with the present workers.
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train"), true));
  h.Work({"c"});
  EXPECT_EQ(h.OwnersOf("train"), Ids{"c"});
}

TEST(CoordinatorWorkers, APreparationStartsAgainWhenNoWorkerHasItsDigest) {
  StateHarness h;
  h.Register("a");
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train")));
  h.Finish("a", h.Beat("a").tasks(0));
  v1::RegisterWorkerRequest other = WorkerCalled("c");
  other.set_conformance_digest("d2");
  h.Do<v1::RegisterWorkerReply>(other);
  EXPECT_EQ(h.Beat("c").tasks_size(), 0);
  h.Pass(5 * kSecond, {"c"});
  h.Work({"c"});
  EXPECT_EQ(h.Job("train").state(), v1::READY);
}

TEST(CoordinatorWorkers, AWorkerWithoutAJobsDataRootGetsNoRangeOfTheJob) {
  StateHarness h;
  h.Register("a");
  h.Prepare("train", {"a"});
  v1::RegisterWorkerRequest other = WorkerCalled("b");
  other.set_roots(0, "elsewhere");
  h.Do<v1::RegisterWorkerReply>(other);
  EXPECT_EQ(h.OwnersOf("train"), Ids{"a"});
  h.Pass(5 * kSecond, {"b"});
  EXPECT_THAT(h.Job("train").waiting(), HasSubstr("data roots"));
}

TEST(CoordinatorWorkers, AKilledWorkerIsReportedAsLostWithTheTime) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  h.Prepare("train", {"a", "b"});
  h.Pass(kSecond, {"a", "b"});
  // The worker is killed. Its reader reports that before the coordinator misses heartbeats.
  h.Pass(kSecond / 2, {"b"});
  Complain(&h, h.Do<v1::OpenSessionReply>(SessionOn("train")).session_id(), "a");
  ASSERT_EQ(h.Worker("a").state(), State::SUSPECT);
  EXPECT_THAT(h.Worker("a").note(), StartsWith("lost 0 s ago"));
  h.Pass(3 * kSecond / 2, {"b"});
  ASSERT_EQ(h.Worker("a").state(), State::SUSPECT);
  EXPECT_EQ(h.Worker("a").note(), "lost 2 s ago: no heartbeat since then");
  h.Pass(10 * kSecond, {"b"});
  ASSERT_EQ(h.Worker("a").state(), State::DEAD);
  EXPECT_EQ(h.Worker("a").note(), "lost 12 s ago: no heartbeat since then");
  h.Pass(600 * kSecond, {"b"});
  EXPECT_EQ(h.Worker("a").note(), "lost 10 min ago: no heartbeat since then");
  EXPECT_EQ(h.Worker("b").note(), "");
}

TEST(CoordinatorWorkers, NamesAreDistinctAndDefaultToIds) {
  StateHarness h;
  for (const std::string id : {"a", "b", "c"}) {
    v1::RegisterWorkerRequest request = WorkerCalled(id);
    if (id != "a") request.set_name("gpu7:7071");
    h.Do<v1::RegisterWorkerReply>(request);
  }
  EXPECT_EQ(h.Worker("a").name(), "a");
  EXPECT_EQ(h.Worker("b").name(), "gpu7:7071");
  EXPECT_EQ(h.Worker("c").name(), "gpu7:7071 (c)");
  const v1::View view = h.Prepare("train", {"a", "b", "c"}).view();
  for (const v1::View::Worker& worker : view.workers()) {
    EXPECT_EQ(worker.name(), worker.id() == "a" ? "" : h.Worker(worker.id()).name());
  }
}

TEST(CoordinatorWorkers, AWorkerThatReturnsGetsANameThatNoOtherWorkerHas) {
  StateHarness h;
  const auto named = [](const std::string& id, uint64_t incarnation) {
    v1::RegisterWorkerRequest request = WorkerCalled(id);
    request.set_name("gpu7:7071");
    request.set_incarnation(incarnation);
    return request;
  };
  for (const std::string id : {"a", "b"}) h.Do<v1::RegisterWorkerReply>(named(id, 1));
  ASSERT_EQ(h.Worker("a").name(), "gpu7:7071");
  h.Pass(30 * kSecond, {"b"});
  ASSERT_EQ(h.Worker("a").state(), State::DEAD);
  h.Do<v1::RegisterWorkerReply>(named("b", 2));
  EXPECT_EQ(h.Worker("b").name(), "gpu7:7071");
  h.Beat("a");
  EXPECT_EQ(h.Worker("a").state(), State::LIVE);
  EXPECT_EQ(h.Worker("a").name(), "gpu7:7071 (a)");

  v1::HeartbeatRequest last = BeatOf("b");
  last.set_incarnation(2);
  last.set_leaving(true);
  h.Do<v1::HeartbeatReply>(last);
  h.Do<v1::RegisterWorkerReply>(named("a", 2));
  EXPECT_EQ(h.Worker("a").name(), "gpu7:7071");
  h.Do<v1::RegisterWorkerReply>(named("b", 2));
  EXPECT_EQ(h.Worker("b").state(), State::LIVE);
  EXPECT_EQ(h.Worker("b").name(), "gpu7:7071 (b)");
}

TEST(CoordinatorWorkers, AWorkerThatKeepsCrashingMustBeSteadyBeforeItServes) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  h.Prepare("train", {"a", "b"});
  h.Do<v1::RegisterWorkerReply>(WorkerCalled("a", 2));
  h.Do<v1::RegisterWorkerReply>(WorkerCalled("a", 3));
  EXPECT_EQ(h.Worker("a").state(), State::LIVE);
  h.Do<v1::RegisterWorkerReply>(WorkerCalled("a", 4));
  EXPECT_EQ(h.Worker("a").state(), State::SUSPECT);
  EXPECT_EQ(h.OwnersOf("train"), Ids{"b"});
  for (int i = 0; i < 41 * 4; ++i) {
    h.now += kSecond / 4;
    h.Beat("b");
    h.Do<v1::HeartbeatReply>(BeatOf("a", 4));
    h.Apply(Tick());
  }
  EXPECT_EQ(h.Worker("a").state(), State::LIVE);
}

TEST(CoordinatorWorkers, APauseOfTheCoordinatorKillsNoWorker) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  h.Prepare("train", {"a", "b"});
  h.Apply(Tick());
  h.now += 60 * kSecond;
  h.Apply(Tick());
  EXPECT_EQ(h.OwnersOf("train"), (Ids{"a", "b"}));
  h.Pass(4 * kSecond, {"b"});
  EXPECT_EQ(h.OwnersOf("train"), Ids{"b"});
}

TEST(CoordinatorWorkers, ARestartMovesNoRangeWhileWorkersReturn) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  const v1::View view = h.Prepare("train", {"a", "b"}).view();
  h.Restart();
  h.Apply(Tick());
  h.Register("c");  // waits until the missing workers are known
  h.Register("b");
  EXPECT_FALSE(h.Beat("a").register_again());
  h.Pass(2 * kSecond, {"a", "b", "c"});
  EXPECT_EQ(h.Job("train").view().SerializeAsString(), view.SerializeAsString());
  h.Pass(2 * kSecond, {"a", "b", "c"});
  EXPECT_EQ(h.OwnersOf("train"), (Ids{"a", "b", "c"}));
  EXPECT_GT(h.Job("train").view().term(), view.term());
}

TEST(CoordinatorWorkers, AWorkerThatDiedDuringAnOutageOfTheCoordinatorIsRemovedAfterTheTimeout) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  h.Prepare("train", {"a", "b"});
  h.Restart();
  h.Pass(2 * kSecond, {"b"});
  EXPECT_EQ(h.OwnersOf("train"), (Ids{"a", "b"}));
  h.Pass(2 * kSecond, {"b"});
  EXPECT_EQ(h.OwnersOf("train"), Ids{"b"});
}

TEST(CoordinatorWorkers, OnlyALastingImbalanceOfCapacitiesMovesRanges) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  const v1::View view = h.Prepare("train", {"a", "b"}).view();
  auto beat = [&](const std::string& id, double rate, double owing) {
    v1::HeartbeatRequest request = BeatOf(id);
    request.mutable_load()->set_capacity(rate);
    request.mutable_load()->set_owing_fraction(owing);
    h.Do<v1::HeartbeatReply>(request);
  };
  v1::ReportSessionRequest report;
  report.set_session_id(h.Do<v1::OpenSessionReply>(SessionOn("train")).session_id());
  report.set_wait_fraction(1);
  auto pass = [&](Nanos length, double a, double b, double owing = 1) {
    for (int i = 0; i < length / (kSecond / 2); ++i) {
      h.now += kSecond / 2;
      h.Do<v1::ReportSessionReply>(report);
      beat("a", i % 3 == 0 ? a * 1.2 : a, owing);
      beat("b", b, owing);
      h.Apply(Tick());
    }
  };
  pass(200 * kSecond, 100, 110);
  EXPECT_EQ(h.Job("train").view().SerializeAsString(), view.SerializeAsString());
  for (int i = 0; i < 20; ++i) {
    pass(2 * kSecond, 100, 400);  // too short to count
    pass(5 * kSecond, 100, 110);
  }
  EXPECT_EQ(h.Job("train").view().SerializeAsString(), view.SerializeAsString());
  pass(200 * kSecond, 100, 400, 0.3);
  EXPECT_EQ(h.Job("train").view().SerializeAsString(), view.SerializeAsString()) << "the workers are mostly idle";
  report.set_wait_fraction(0.01);
  pass(10 * kSecond, 100, 110);
  pass(200 * kSecond, 100, 400);
  EXPECT_EQ(h.Job("train").view().SerializeAsString(), view.SerializeAsString()) << "no trainer waits for rows";
  report.set_wait_fraction(0.9);
  pass(5 * kSecond, 100, 400);
  EXPECT_GT(h.Job("train").view().number(), view.number());
  EXPECT_GT(h.Worker("b").owned_records(), 3 * h.Worker("a").owned_records());
  const uint64_t number = h.Job("train").view().number();
  pass(200 * kSecond, 100, 400);
  EXPECT_EQ(h.Job("train").view().number(), number);
  pass(70 * kSecond, 10, 40);  // heavier rows affect all workers
  EXPECT_EQ(h.Job("train").view().number(), number);
  pass(70 * kSecond, 100, 0);  // an unknown rate changes nothing
  EXPECT_EQ(h.Job("train").view().number(), number);
  h.Restart();
  pass(70 * kSecond, 100, 400);
  EXPECT_GT(h.Worker("b").owned_records(), 3 * h.Worker("a").owned_records()) << "kept over a restart";
}

TEST(CoordinatorWorkers, WorkersGoneForLongAreForgotten) {
  StateOptions options;
  options.forget_after = 10 * kSecond;
  StateHarness h(options);
  h.Register("a");
  h.Register("b");
  h.Pass(20 * kSecond, {"b"});
  EXPECT_EQ(h.Worker("a").id(), "");
  h.Restart();
  EXPECT_EQ(h.Worker("a").id(), "");
  EXPECT_EQ(h.Worker("b").id(), "b");
}

TEST(CoordinatorWorkers, AWorkerThatHasLeftRegistersAgainToReturn) {
  StateHarness h;
  h.Register("a");
  v1::HeartbeatRequest last = BeatOf("a");
  last.set_leaving(true);
  h.Do<v1::HeartbeatReply>(last);
  EXPECT_TRUE(h.Beat("a").register_again());
  h.Register("a");
  EXPECT_EQ(h.Worker("a").state(), State::LIVE);
}

}  // namespace
}  // namespace penstock::coordinator
