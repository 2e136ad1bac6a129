// Workers: joining, dying, draining, coming back; and the views that follow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/server/coordinator/state_harness.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using State = v1::WorkerStatus;
using Ids = std::set<std::string>;

v1::DrainRequest DrainOf(const std::string& id) {
  v1::DrainRequest request;
  request.set_worker(id);
  return request;
}

// A session of job `job` says that it cannot use `worker`.
void Complain(StateHarness* h, const std::string& session, const std::string& worker) {
  v1::ReportSessionRequest report;
  report.set_session_id(session);
  report.add_failed_workers(worker);
  h->Do<v1::ReportSessionReply>(report);
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
  // It beats again: it was only slow.
  h.Beat("a");
  EXPECT_EQ(h.OwnersOf("train"), (Ids{"a", "b"}));
}

TEST(CoordinatorWorkers, AWorkerOfAnotherReleaseIsToldBothReleases) {
  StateHarness h;
  v1::RegisterWorkerRequest old = WorkerCalled("a");
  old.set_version("0.1.0");
  const absl::Status refused = h.StatusOf(old);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  for (const std::string& part : {std::string("worker a"), std::string("0.1.0"), std::string(Version())}) {
    EXPECT_THAT(std::string(refused.message()), HasSubstr(part));
  }
}

TEST(CoordinatorWorkers, WhatKeepsAWorkerFromMakingRowsIsShownAndBounded) {
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
  // Nobody is kept from anything by a worker that has left.
  beat.mutable_load()->set_rows_per_second(100);
  beat.set_leaving(true);
  h.Do<v1::HeartbeatReply>(beat);
  EXPECT_EQ(h.Worker("a").load().troubles_size(), 0);
  EXPECT_EQ(h.Worker("a").load().rows_per_second(), 0);
}

TEST(CoordinatorWorkers, AViewIsNumberedAnewOnlyWhenItChanges) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  const v1::Job job = h.Prepare("train", {"a", "b"});
  h.Pass(20 * kSecond, {"a", "b"});
  h.Do<v1::RegisterWorkerReply>(WorkerCalled("a"));
  EXPECT_EQ(h.Job("train").view().SerializeAsString(), job.view().SerializeAsString());
}

TEST(CoordinatorWorkers, AWorkerThatIsNotKnownRegistersAgain) {
  StateHarness h;
  EXPECT_TRUE(h.Beat("a").register_again());
  h.Register("a");
  EXPECT_FALSE(h.Beat("a").register_again());
  EXPECT_TRUE(h.Do<v1::HeartbeatReply>(BeatOf("a", 2)).register_again());
}

TEST(CoordinatorWorkers, RegistrationsThatMakeNoSenseAreRefused) {
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

TEST(CoordinatorWorkers, ADrainedWorkerLosesItsRangesFirstAndLeavesWhenItSays) {
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

TEST(CoordinatorWorkers, AWorkerThatHasLeftHasNoRateHoweverOftenItSaysSo) {
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

TEST(CoordinatorWorkers, AWorkerThatIsTerminatedDrainsItself) {
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

TEST(CoordinatorWorkers, WorkersOfAnotherDigestGetNoRangesAndTheStatusSaysSo) {
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
  // A preparation whose workers are gone begins anew with those there are.
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train"), true));
  h.Work({"c"});
  EXPECT_EQ(h.OwnersOf("train"), Ids{"c"});
}

TEST(CoordinatorWorkers, APreparationWhoseDigestIsGoneBeginsAnew) {
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

TEST(CoordinatorWorkers, WithoutAJobsDataRootAWorkerGetsNothingOfIt) {
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

TEST(CoordinatorWorkers, AWorkerIsRemovedWhenMostOfItsSessionsCannotUseItAndTakenBackWhenSteady) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  h.Prepare("train", {"a", "b"});
  std::vector<std::string> sessions;
  for (int i = 0; i < 4; ++i) {
    v1::OpenSessionRequest open = SessionOn("train");
    sessions.push_back(h.Do<v1::OpenSessionReply>(open).session_id());
  }
  Complain(&h, sessions[0], "a");
  Complain(&h, sessions[1], "a");
  Complain(&h, sessions[1], "a");
  Complain(&h, sessions[1], "nobody");
  EXPECT_EQ(h.OwnersOf("train"), (Ids{"a", "b"}));
  Complain(&h, sessions[2], "a");
  EXPECT_EQ(h.OwnersOf("train"), Ids{"b"});
  EXPECT_EQ(h.Worker("a").state(), State::SUSPECT);
  EXPECT_THAT(h.Worker("a").note(), HasSubstr("out for another 2 s"));
  EXPECT_THAT(h.Worker("a").note(), HasSubstr("once in the last 5 minutes"));
  h.Pass(kSecond, {"a", "b"});
  EXPECT_EQ(h.OwnersOf("train"), Ids{"b"});
  h.Pass(2 * kSecond, {"a", "b"});
  EXPECT_EQ(h.OwnersOf("train"), (Ids{"a", "b"}));
  EXPECT_EQ(h.Worker("a").note(), "");
  // Removed again and again: it has to be steady for longer, but a minute is enough.
  const auto out = [&] {
    // Sessions expire meanwhile; new ones take their place.
    for (int i = 0; i < 4; ++i) sessions.push_back(h.Do<v1::OpenSessionReply>(SessionOn("train")).session_id());
    for (const std::string& session : sessions) Complain(&h, session, "a");
    EXPECT_EQ(h.Worker("a").state(), State::SUSPECT);
    Nanos time = 0;
    for (; h.Worker("a").state() == State::SUSPECT && time < 600 * kSecond; time += kSecond / 4) {
      h.Pass(kSecond / 4, {"a", "b"});
    }
    return time;
  };
  EXPECT_LE(out(), 3 * kSecond);
  EXPECT_LE(out(), 5 * kSecond);
  EXPECT_GT(out(), 7 * kSecond);
  EXPECT_GT(out(), 15 * kSecond);
  EXPECT_GT(out(), 30 * kSecond);
  EXPECT_GT(out(), 59 * kSecond);
  EXPECT_LE(out(), 61 * kSecond);
  EXPECT_THAT(h.Worker("a").note(), "");
  h.Pass(301 * kSecond, {"a", "b"});
  EXPECT_LE(out(), 3 * kSecond) << "forgiven";
}

TEST(CoordinatorWorkers, ASuspectThatMissesHeartbeatsIsNotTakenBackMeanwhile) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  h.Prepare("train", {"a", "b"});
  Complain(&h, h.Do<v1::OpenSessionReply>(SessionOn("train")).session_id(), "a");
  h.Pass(2500 * kMillisecond, {"b"});
  EXPECT_EQ(h.Worker("a").state(), State::SUSPECT) << "two seconds, but without a word from it";
  h.Pass(1500 * kMillisecond, {"a", "b"});
  EXPECT_EQ(h.Worker("a").state(), State::SUSPECT);
  h.Pass(kSecond, {"a", "b"});
  EXPECT_EQ(h.Worker("a").state(), State::LIVE);
}

// Of more than a hundred processes, which are told to speak every 1.5 s, the first time up to a quarter later.
TEST(CoordinatorWorkers, OfManyASuspectThatBeatsWhenItIsToldToIsTakenBackAndNobodyDies) {
  StateHarness h;
  std::vector<std::string> ids;
  for (int i = 0; i < 101; ++i) ids.push_back("w" + std::to_string(i));
  for (const std::string& id : ids) h.Register(id);
  h.Prepare("train", ids);
  std::map<std::string, Nanos> due;
  for (const std::string& id : ids) due[id] = h.now;
  const auto session = h.Do<v1::OpenSessionReply>(SessionOn("train")).session_id();
  Complain(&h, session, "w7");
  EXPECT_EQ(h.Worker("w7").state(), State::SUSPECT);
  Nanos most = 0;
  for (const Nanos end = h.now + 6 * kSecond; h.now < end; h.now += 25 * kMillisecond) {
    h.Apply(Tick());
    for (auto& [id, at] : due) {
      if (h.now < at) continue;
      const Nanos told = h.Beat(id).next_beat_ms() * kMillisecond;
      most = std::max(most, told);
      at = h.now + told;
    }
  }
  EXPECT_GT(most, kSecond);
  EXPECT_LE(most, 1875 * kMillisecond);
  for (const std::string& id : ids) EXPECT_EQ(h.Worker(id).state(), State::LIVE) << id;
}

TEST(CoordinatorWorkers, WordsAgainstAWorkerAreForgottenAfterAWhile) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  h.Prepare("train", {"a", "b"});
  const auto one = h.Do<v1::OpenSessionReply>(SessionOn("train")).session_id();
  const auto two = h.Do<v1::OpenSessionReply>(SessionOn("train")).session_id();
  Complain(&h, one, "a");
  h.Pass(11 * kSecond, {"a", "b"});
  Complain(&h, two, "a");
  EXPECT_EQ(h.OwnersOf("train"), (Ids{"a", "b"}));
}

TEST(CoordinatorWorkers, TheOnlyWorkerOfAJobIsNeverRemovedOnReports) {
  StateHarness h;
  h.Register("a");
  h.Prepare("train", {"a"});
  Complain(&h, h.Do<v1::OpenSessionReply>(SessionOn("train")).session_id(), "a");
  EXPECT_EQ(h.Worker("a").state(), State::LIVE);
}

TEST(CoordinatorWorkers, AWorkerThatKeepsCrashingMustBeSteadyFirst) {
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

TEST(CoordinatorWorkers, APauseOfTheCoordinatorItselfKillsNobody) {
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

TEST(CoordinatorWorkers, ARestartMovesNothingWhileWorkersComeBack) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  const v1::View view = h.Prepare("train", {"a", "b"}).view();
  h.Restart();
  h.Apply(Tick());
  h.Register("c");  // waits until it is known who is missing
  h.Register("b");
  EXPECT_FALSE(h.Beat("a").register_again());
  h.Pass(2 * kSecond, {"a", "b", "c"});
  EXPECT_EQ(h.Job("train").view().SerializeAsString(), view.SerializeAsString());
  h.Pass(2 * kSecond, {"a", "b", "c"});
  EXPECT_EQ(h.OwnersOf("train"), (Ids{"a", "b", "c"}));
  EXPECT_GT(h.Job("train").view().term(), view.term());
}

TEST(CoordinatorWorkers, AWorkerThatDiedWhileTheCoordinatorWasDownIsRemovedAfterTheTimeout) {
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

TEST(CoordinatorWorkers, NoisyCapacitiesMoveNothingButAStandingImbalanceDoes) {
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
    pass(2 * kSecond, 100, 400);  // too short
    pass(5 * kSecond, 100, 110);
  }
  EXPECT_EQ(h.Job("train").view().SerializeAsString(), view.SerializeAsString());
  pass(200 * kSecond, 100, 400, 0.3);
  EXPECT_EQ(h.Job("train").view().SerializeAsString(), view.SerializeAsString()) << "nobody waits for them";
  report.set_wait_fraction(0.01);
  pass(10 * kSecond, 100, 110);
  pass(200 * kSecond, 100, 400);
  EXPECT_EQ(h.Job("train").view().SerializeAsString(), view.SerializeAsString()) << "nor for these";
  report.set_wait_fraction(0.9);
  pass(5 * kSecond, 100, 400);
  EXPECT_GT(h.Job("train").view().number(), view.number());
  EXPECT_GT(h.Worker("b").owned_records(), 3 * h.Worker("a").owned_records());
  const uint64_t number = h.Job("train").view().number();
  pass(200 * kSecond, 100, 400);
  EXPECT_EQ(h.Job("train").view().number(), number);
  pass(70 * kSecond, 10, 40);  // heavier rows are so for all
  EXPECT_EQ(h.Job("train").view().number(), number);
  pass(70 * kSecond, 100, 0);  // a rate that is not known is no reason
  EXPECT_EQ(h.Job("train").view().number(), number);
  h.Restart();
  pass(70 * kSecond, 100, 400);
  EXPECT_GT(h.Worker("b").owned_records(), 3 * h.Worker("a").owned_records()) << "kept over a restart";
}

TEST(CoordinatorWorkers, ThoseLongGoneAreForgotten) {
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

TEST(CoordinatorWorkers, AWorkerThatHasLeftRegistersAgainToComeBack) {
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
}  // namespace penstock
