// Each request that acts for a session or a trace asks the rule of transport/ownership.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/server/coordinator/state_harness.h"
#include "transport/ownership.h"

namespace penstock::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::ReportSessionRequest ReportOf(const std::string& session, uint64_t position = 0) {
  v1::ReportSessionRequest report;
  report.set_session_id(session);
  report.set_position(position);
  return report;
}

v1::CloseSessionRequest CloseOf(const std::string& session) {
  v1::CloseSessionRequest close;
  close.set_session_id(session);
  return close;
}

v1::CloseSessionRequest CloseWithReport(const std::string& session, const std::string& reported) {
  v1::CloseSessionRequest close = CloseOf(session);
  *close.mutable_last() = ReportOf(reported, 50);
  return close;
}

v1::PutTraceRequest PutOf(uint64_t trace) {
  v1::PutTraceRequest put;
  put.set_trace(trace);
  put.set_process("a");
  return put;
}

v1::GetTraceRequest GetOf(uint64_t trace) {
  v1::GetTraceRequest get;
  get.set_trace(trace);
  return get;
}

v1::GetSupportRequest SupportOf(uint64_t id) {
  v1::GetSupportRequest get;
  get.set_id(id);
  return get;
}

// Two ranks have a session each, and a trace and a support file are collected. All were opened by `owner`.
class StateOwnershipTest : public ::testing::Test {
 protected:
  struct Asked {
    transport::Act act;
    transport::Peer caller, owner;
    bool exists = false;
  };

  StateOwnershipTest() {
    h.caller = owner;
    h.Register("a");
    h.Prepare("train", {"a"});
    session = Open(0, 1);
    other = Open(1, 2);
    v1::StartTraceRequest start;
    start.set_job("train");
    start.set_seconds(5);
    trace = h.Do<v1::StartTraceReply>(start).trace();
    support = h.Do<v1::StartSupportReply>(v1::StartSupportRequest()).id();
    h.caller = caller;
  }

  StateOptions Options() {
    StateOptions options;
    options.may_act = [this](const transport::Claim& claim, const transport::Ownership* owned) {
      asked.push_back({claim.act, claim.caller, owned == nullptr ? transport::Peer() : owned->owner, owned != nullptr});
      return verdict.ok() ? transport::MayActFor(claim, owned) : verdict;
    };
    return options;
  }
  v1::OpenSessionRequest OpenOf(uint32_t rank, uint64_t process, const std::string& resumes = "") {
    v1::OpenSessionRequest open = SessionOn("train", rank, 2);
    open.set_process(process);
    open.set_resumes(resumes);
    return open;
  }
  std::string Open(uint32_t rank, uint64_t process) {
    return h.Do<v1::OpenSessionReply>(OpenOf(rank, process)).session_id();
  }
  uint64_t PositionOf(uint32_t rank) {
    const v1::StatusReply::JobStatus status = h.JobStatus("train");
    for (const auto& known : status.sessions()) {
      if (known.rank() == rank) return known.position();
    }
    ADD_FAILURE() << "rank " << rank << " has no session";
    return 0;
  }

  const transport::Peer owner = transport::Peer::Network("10.0.0.7:5123"),
                        caller = transport::Peer::Network("192.0.2.1:443");
  absl::Status verdict;
  std::vector<Asked> asked;
  StateHarness h{Options()};
  std::string session, other;
  uint64_t trace = 0, support = 0;
};

TEST_F(StateOwnershipTest, EachRejectedActChangesNothing) {
  v1::JudgeRecordsRequest judge;
  judge.set_session_id(session);
  judge.set_job_uid(h.Job("train").uid());
  const std::vector<std::pair<transport::Act, Request>> requests = {
      {transport::Act::kReport, ReportOf(session, 50)},
      {transport::Act::kJudge, judge},
      {transport::Act::kClose, CloseOf(session)},
      {transport::Act::kTakeOver, OpenOf(0, 1)},
      {transport::Act::kTakeOver, OpenOf(0, 3, session)},
      {transport::Act::kAddPart, PutOf(trace)},
      {transport::Act::kFetch, GetOf(trace)},
      {transport::Act::kFetchSupport, SupportOf(support)},
  };
  verdict = absl::PermissionDeniedError("no act is allowed");
  for (const auto& [act, request] : requests) {
    asked.clear();
    EXPECT_EQ(h.Apply(request).status, verdict) << static_cast<int>(act);
    ASSERT_EQ(asked.size(), 1u) << static_cast<int>(act);
    EXPECT_EQ(asked[0].act, act);
    EXPECT_TRUE(asked[0].exists);
    EXPECT_EQ(asked[0].owner, owner);
    EXPECT_EQ(asked[0].caller, caller);
  }
  EXPECT_EQ(h.JobStatus("train").sessions_size(), 2);
  EXPECT_EQ(PositionOf(0), 0u);

  // The same requests are accepted from another address, because an address is no identity.
  verdict = absl::OkStatus();
  for (const auto& [act, request] : requests) {
    if (act == transport::Act::kClose) continue;
    EXPECT_TRUE(h.Apply(request).status.ok()) << static_cast<int>(act);
  }
  const int before = h.JobStatus("train").sessions_size();
  EXPECT_TRUE(h.Apply(CloseOf(other)).status.ok());
  EXPECT_EQ(h.JobStatus("train").sessions_size(), before - 1);
}

TEST_F(StateOwnershipTest, TheLastReportOfACloseIsASeparateAct) {
  asked.clear();
  EXPECT_TRUE(h.Apply(CloseWithReport(session, session)).status.ok());
  std::vector<transport::Act> acts;
  for (const Asked& each : asked) acts.push_back(each.act);
  EXPECT_THAT(acts, ElementsAre(transport::Act::kClose, transport::Act::kReport));
}

TEST_F(StateOwnershipTest, ACloseCannotReportForAnotherSession) {
  const absl::Status status = h.Apply(CloseWithReport(session, other)).status;
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Text(status), HasSubstr("names session " + other.substr(0, 8)));
  EXPECT_EQ(h.JobStatus("train").sessions_size(), 2);
  EXPECT_EQ(PositionOf(1), 0u);
}

TEST_F(StateOwnershipTest, TheRuleIsAskedAboutMissingSessionsAndTracesToo) {
  asked.clear();
  EXPECT_TRUE(h.Do<v1::ReportSessionReply>(ReportOf("none")).unknown_session());
  v1::JudgeRecordsRequest judge;
  judge.set_session_id("none");
  EXPECT_TRUE(h.Do<v1::JudgeRecordsReply>(judge).unknown_session());
  h.Do<v1::CloseSessionReply>(CloseOf("none"));
  EXPECT_EQ(h.StatusOf(PutOf(77)).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(h.StatusOf(GetOf(77)).code(), absl::StatusCode::kNotFound);
  ASSERT_EQ(asked.size(), 5u);
  for (const Asked& each : asked) EXPECT_FALSE(each.exists);
}

// Workers belong to the name that registered them.
class WorkerOwnershipTest : public ::testing::Test {
 protected:
  static transport::Peer Named(const std::string& name) {
    transport::Peer peer = transport::Peer::Network("10.0.0.7:5123");
    peer.name = name;
    return peer;
  }
  // Returns the result of each request that acts for worker a.
  std::vector<absl::Status> ActsForA() {
    v1::ReportTaskRequest report;
    report.set_worker_id("a");
    v1::ReportRecordsRequest records;
    records.set_worker_id("a");
    return {h.StatusOf(WorkerCalled("a")), h.StatusOf(BeatOf("a")), h.StatusOf(report), h.StatusOf(records),
            h.StatusOf(AskIndexTurn{7, "a", 100})};
  }

  StateHarness h;
};

TEST_F(WorkerOwnershipTest, NoOtherNameActsForAWorker) {
  h.caller = Named("workers");
  h.Register("a");
  h.caller = Named("impostor");
  for (const absl::Status& status : ActsForA()) {
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
    EXPECT_THAT(Text(status), HasSubstr("worker a belongs to workers at 10.0.0.7:5123"));
  }
  h.Register("b");  // its own worker
  h.caller = Named("workers");
  for (const absl::Status& status : ActsForA()) EXPECT_NE(status.code(), absl::StatusCode::kPermissionDenied) << status;
}

TEST_F(WorkerOwnershipTest, AWorkerThatIsDeadGetsANewOwner) {
  h.caller = Named("old");
  h.Register("a");
  h.Pass(10 * kSecond, {});
  h.caller = Named("new");
  EXPECT_TRUE(h.StatusOf(WorkerCalled("a")).ok());
  h.caller = Named("old");
  EXPECT_EQ(h.StatusOf(WorkerCalled("a")).code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(WorkerOwnershipTest, ARestartOfTheCoordinatorKeepsTheOwner) {
  h.caller = Named("workers");
  h.Register("a");
  h.Restart();
  h.caller = Named("impostor");
  for (const absl::Status& status : ActsForA()) {
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
  }
  h.caller = Named("workers");
  EXPECT_TRUE(h.StatusOf(WorkerCalled("a")).ok());
}

// The operator has removed --tokens, or added them.
TEST_F(WorkerOwnershipTest, AWorkerRegistersAgainWhenNamesBeginOrEnd) {
  h.caller = Named("");
  h.Register("a");
  h.Restart();
  h.caller = Named("workers");
  EXPECT_TRUE(h.StatusOf(WorkerCalled("a")).ok());
  h.Restart();
  h.caller = Named("");
  EXPECT_FALSE(h.StatusOf(WorkerCalled("a")).ok());
  h.Pass(4 * kSecond, {});  // it counts as dead
  EXPECT_TRUE(h.StatusOf(WorkerCalled("a")).ok());
}

}  // namespace
}  // namespace penstock::coordinator
