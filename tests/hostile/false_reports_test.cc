// Callers with valid tokens and false reports: about workers, about records, and in the name of another caller.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "penstock/v1/control.grpc.pb.h"
#include "tests/hostile/besieged_cluster.h"
#include "tests/hostile/caller.h"

namespace penstock::hostile {
namespace {

using ::testing::HasSubstr;

class FalseReports : public ::testing::Test {
 protected:
  BesiegedCluster cluster_{BesiegedCluster::Security::kRoles, "sessions_per_name: 200"};
};

TEST_F(FalseReports, ATrainerWithTwoHundredSessionsCannotRemoveAWorkerOrARecord) {
  const std::string worker = cluster_.Status().workers(0).id();
  const uint64_t uid = cluster_.processes().control().GetJob(cluster_.job().name())->uid();
  Caller mallory(cluster_, "mallory");
  cluster_.Besiege("false reports about a worker and its records", [&](const std::atomic<bool>& over) {
    std::vector<std::string> sessions;
    v1::OpenSessionRequest open;
    open.set_job(cluster_.job().name());
    open.set_world_size(1);
    for (uint64_t process = 1; process <= 200; ++process) {
      open.set_process(process);
      v1::OpenSessionReply opened;
      ASSERT_TRUE(mallory.Call(&v1::Coordinator::Stub::OpenSession, open, &opened).ok());
      sessions.push_back(opened.session_id());
    }
    v1::OpenSessionReply one_more;
    const absl::Status full = mallory.Call(&v1::Coordinator::Stub::OpenSession, open, &one_more);
    EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(full.message(), HasSubstr("'mallory' has 200 open sessions, the most that limits.sessions_per_name"));
    while (!over) {
      for (size_t i = 0; i < sessions.size() && !over; ++i) {
        v1::ReportSessionRequest report;
        report.set_session_id(sessions[i]);
        report.add_failed_workers(worker);
        v1::ReportSessionReply reported;
        EXPECT_TRUE(mallory.Call(&v1::Coordinator::Stub::ReportSession, report, &reported).ok());
        if (i % 20 != 0) continue;
        v1::JudgeRecordsRequest judge;
        judge.set_session_id(sessions[i]);
        judge.set_job_uid(uid);
        for (uint64_t record = 0; record < 160; ++record) judge.add_records(record);
        v1::JudgeRecordsReply judged;
        EXPECT_TRUE(mallory.Call(&v1::Coordinator::Stub::JudgeRecords, judge, &judged).ok());
        EXPECT_EQ(judged.bad_size(), 0);
      }
    }
  });
  const v1::StatusReply status = cluster_.Status();
  EXPECT_EQ(status.workers(0).state(), v1::WorkerStatus::LIVE);
  EXPECT_EQ(status.jobs(0).bad_records(), 0u);
  ASSERT_GE(status.rejected_size(), 1);
  EXPECT_EQ(status.rejected(0).name(), "mallory");
}

TEST_F(FalseReports, AWorkerCannotSpeakForAnotherName) {
  const v1::WorkerStatus victim = cluster_.Status().workers(0);
  Caller rogue(cluster_, "rogue");
  cluster_.Besiege("heartbeats of a worker with another name", [&](const std::atomic<bool>& over) {
    while (!over) {
      v1::HeartbeatRequest beat;
      beat.set_id(victim.id());
      beat.set_leaving(true);
      v1::HeartbeatReply beaten;
      EXPECT_EQ(rogue.Call(&v1::Coordinator::Stub::Heartbeat, beat, &beaten).code(),
                absl::StatusCode::kPermissionDenied);
      v1::RegisterWorkerRequest registration;
      registration.set_id(victim.id());
      registration.set_incarnation(1);
      registration.set_address("127.0.0.1:1");
      v1::RegisterWorkerReply registered;
      EXPECT_FALSE(rogue.Call(&v1::Coordinator::Stub::RegisterWorker, registration, &registered).ok());
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  EXPECT_EQ(cluster_.Status().workers(0).state(), v1::WorkerStatus::LIVE);
  cluster_.ExpectNamed("coordinator", "forbidden");
  EXPECT_EQ(cluster_.Status().rejected(0).name(), "rogue");
}

}  // namespace
}  // namespace penstock::hostile
