// Owners of jobs, pauses, caps of readers, and the end of idle jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/server/coordinator/state_harness.h"

namespace penstock::coordinator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

transport::Peer Named(const std::string& name, bool only_own, const std::vector<std::string>& jobs) {
  transport::Peer peer = transport::Peer::Network("10.0.0.7:5123");
  peer.name = name;
  peer.only_own = only_own;
  peer.jobs = jobs;
  return peer;
}

class StateOwnersTest : public ::testing::Test {
 protected:
  StateOwnersTest() { Register(); }

  void Register() {
    const transport::Peer caller = std::exchange(h.caller, worker);
    h.Register("a");
    h.caller = caller;
  }

  void Prepare(const v1::JobSpec& spec) {
    h.Do<v1::SubmitReply>(SubmitOf(spec));
    const transport::Peer caller = std::exchange(h.caller, worker);
    h.Work({"a"});
    h.caller = caller;
  }
  absl::Status Cancel(const std::string& job) {
    v1::CancelRequest request;
    request.set_job(job);
    return h.StatusOf(request);
  }
  absl::Status Delete(const std::string& job) {
    v1::DeleteRequest request;
    request.set_job(job);
    request.set_running(true);
    return h.StatusOf(request);
  }
  v1::PurgeRequest PurgeOf(const std::string& job) {
    v1::PurgeRequest request;
    request.set_job(job);
    request.set_running(true);
    return request;
  }
  v1::PauseRequest PauseOf(const std::string& job, const std::string& by = "") {
    v1::PauseRequest request;
    request.set_job(job);
    request.set_by(by);
    return request;
  }
  v1::ResumeRequest ResumeOf(const std::string& job) {
    v1::ResumeRequest request;
    request.set_job(job);
    return request;
  }

  const transport::Peer alice = Named("alice", true, {"imagenet-*"}), bob = Named("bob", true, {"imagenet-*"}),
                        admin = Named("admin", false, {}), worker = Named("w", false, {});
  StateHarness h;
};

TEST_F(StateOwnersTest, ASubmitterChangesOnlyItsOwnJobs) {
  h.caller = alice;
  EXPECT_THAT(Text(h.StatusOf(SubmitOf(SimpleSpec("coco")))), AllOf(HasSubstr("alice"), HasSubstr("coco")));
  Prepare(SimpleSpec("imagenet-1"));
  EXPECT_EQ(h.JobStatus("imagenet-1").owner(), "alice");

  h.caller = bob;
  const std::string denied = "belongs to 'alice'";
  EXPECT_THAT(Text(Cancel("imagenet-1")), HasSubstr(denied));
  EXPECT_THAT(Text(Delete("imagenet-1")), HasSubstr(denied));
  EXPECT_THAT(Text(h.StatusOf(PurgeOf("imagenet-1"))), HasSubstr(denied));
  EXPECT_THAT(Text(h.StatusOf(PauseOf("imagenet-1"))), HasSubstr(denied));
  EXPECT_THAT(Text(h.StatusOf(ResumeOf("imagenet-1"))), HasSubstr(denied));
  v1::SubmitRequest replace = SubmitOf(SimpleSpec("imagenet-1"));
  replace.set_replace(true);
  EXPECT_THAT(Text(h.StatusOf(replace)), HasSubstr(denied));
  // The same description joins the job.
  EXPECT_TRUE(h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("imagenet-1"))).existed());
  EXPECT_TRUE(h.JobStatus("imagenet-1").paused_by().empty());

  h.Restart();
  Register();
  h.caller = alice;
  EXPECT_TRUE(h.StatusOf(PauseOf("imagenet-1")).ok());
  EXPECT_TRUE(Cancel("imagenet-1").ok());
  h.caller = bob;
  // A cancelled job still has its owner.
  EXPECT_THAT(Text(h.StatusOf(SubmitOf(SimpleSpec("imagenet-1")))), HasSubstr(denied));
  h.caller = admin;
  EXPECT_TRUE(Delete("imagenet-1").ok());
}

TEST_F(StateOwnersTest, APauseOutlivesARestartAndAReplacement) {
  Prepare(SimpleSpec("train"));
  EXPECT_EQ(h.Do<v1::PauseReply>(PauseOf("train", "eve@host")).paused_by(), "eve@host");
  h.caller = admin;
  EXPECT_EQ(h.Do<v1::PauseReply>(PauseOf("train", "mallory")).paused_by(), "eve@host");  // the first one stays
  h.Restart();
  Register();
  EXPECT_EQ(h.Job("train").paused_by(), "eve@host");
  EXPECT_THAT(h.JobStatus("train").waiting(), HasSubstr("eve@host paused job train"));

  v1::JobSpec other = SimpleSpec("train");
  other.set_weight(7);
  v1::SubmitRequest replace = SubmitOf(other);
  replace.set_replace(true);
  h.Do<v1::SubmitReply>(replace);
  h.caller = worker;
  h.Work({"a"});
  h.caller = admin;
  ASSERT_EQ(h.Job("train").spec().weight(), 7u);
  EXPECT_EQ(h.Job("train").paused_by(), "eve@host");
  EXPECT_EQ(h.Do<v1::ResumeReply>(ResumeOf("train")).paused_by(), "eve@host");
  EXPECT_EQ(h.Do<v1::ResumeReply>(ResumeOf("train")).paused_by(), "");
  // A proved name counts more than the one in the request.
  EXPECT_EQ(h.Do<v1::PauseReply>(PauseOf("train", "mallory")).paused_by(), "admin");
}

TEST_F(StateOwnersTest, AReplacementOfAJobThatIsBeingPreparedKeepsItsPauseAndItsOwner) {
  h.caller = alice;
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("imagenet-1")));
  EXPECT_EQ(h.Do<v1::PauseReply>(PauseOf("imagenet-1")).paused_by(), "alice");
  h.caller = admin;
  v1::JobSpec other = SimpleSpec("imagenet-1");
  other.set_weight(7);
  v1::SubmitRequest replace = SubmitOf(other);
  replace.set_replace(true);
  h.Do<v1::SubmitReply>(replace);
  ASSERT_EQ(h.Job("imagenet-1").spec().weight(), 7u);
  EXPECT_EQ(h.Job("imagenet-1").paused_by(), "alice");
  EXPECT_EQ(h.Job("imagenet-1").owner(), "alice");
  // A job that has ended is replaced by a new one.
  EXPECT_TRUE(Cancel("imagenet-1").ok());
  h.Do<v1::SubmitReply>(SubmitOf(other));
  EXPECT_EQ(h.Job("imagenet-1").paused_by(), "");
  EXPECT_EQ(h.Job("imagenet-1").owner(), "admin");
}

TEST_F(StateOwnersTest, WatchersLearnOfAPause) {
  Prepare(SimpleSpec("train"));
  v1::WatchRequest watch;
  watch.set_job("train");
  watch.set_known_revision(h.state->revision());
  watch.set_base_revision(h.state->revision());
  h.Do<v1::PauseReply>(PauseOf("train", "eve"));
  const auto news = h.state->Watch(watch);
  ASSERT_TRUE(news.ok() && news->has_value());
  ASSERT_EQ((*news)->jobs_size(), 1);
  EXPECT_EQ((*news)->jobs(0).record().paused_by(), "eve");
  EXPECT_FALSE((*news)->jobs(0).has_metadata());
}

TEST_F(StateOwnersTest, OnlyARunningJobPauses) {
  EXPECT_TRUE(absl::IsNotFound(h.StatusOf(PauseOf("train"))));
  Prepare(SimpleSpec("train"));
  ASSERT_TRUE(Cancel("train").ok());
  EXPECT_THAT(Text(h.StatusOf(PauseOf("train"))), HasSubstr("CANCELLED"));
  EXPECT_TRUE(absl::IsInvalidArgument(h.StatusOf(PauseOf("train", std::string(300, 'x')))) ||
              absl::IsFailedPrecondition(h.StatusOf(PauseOf("train", std::string(300, 'x')))));
}

TEST_F(StateOwnersTest, AJobHasAtMostItsReaders) {
  v1::JobSpec spec = SimpleSpec("train");
  spec.mutable_caps()->set_sessions(2);
  Prepare(spec);
  for (uint32_t rank : {0u, 1u}) {
    v1::OpenSessionRequest open = SessionOn("train", rank, 5);
    open.set_process(rank + 1);
    EXPECT_FALSE(h.Do<v1::OpenSessionReply>(open).session_id().empty());
  }
  v1::OpenSessionRequest third = SessionOn("train", 2, 5);
  third.set_process(9);
  const absl::Status rejected = h.StatusOf(third);
  EXPECT_EQ(rejected.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Text(rejected), AllOf(HasSubstr("has 2 readers"), HasSubstr("caps.sessions is 2")));
  // A reader that opens again in mid-run does not count twice.
  v1::OpenSessionRequest again = SessionOn("train", 1, 5);
  again.set_process(2);
  EXPECT_FALSE(h.Do<v1::OpenSessionReply>(again).session_id().empty());
}

TEST_F(StateOwnersTest, ReadersOfAllRowsCountEach) {
  v1::JobSpec spec = SimpleSpec("train");
  spec.mutable_caps()->set_sessions(1);
  Prepare(spec);
  v1::OpenSessionRequest open = SessionOn("train");
  open.set_process(1);
  EXPECT_FALSE(h.Do<v1::OpenSessionReply>(open).session_id().empty());
  v1::OpenSessionRequest other = SessionOn("train");
  other.set_process(2);
  EXPECT_THAT(Text(h.StatusOf(other)), HasSubstr("has 1 reader, and caps.sessions is 1"));
  EXPECT_FALSE(h.Do<v1::OpenSessionReply>(open).session_id().empty()) << "its process opens it again";
  EXPECT_THAT(Text(h.StatusOf(open)), HasSubstr("has 1 reader, and")) << "but not without end";
  h.caller = worker;
  h.Pass(11 * kSecond, {"a"});
  EXPECT_FALSE(h.Do<v1::OpenSessionReply>(other).session_id().empty()) << "readers that died do not count";
}

TEST_F(StateOwnersTest, AnIdleJobEndsWithTheReason) {
  v1::JobSpec spec = SimpleSpec("train");
  spec.set_idle_expiry_seconds(60);
  Prepare(spec);
  Prepare(SimpleSpec("endless"));
  h.caller = worker;
  h.Pass(50 * kSecond, {"a"});
  v1::OpenSessionRequest open = SessionOn("train", 0, 1);
  open.set_process(1);
  const std::string session = h.Do<v1::OpenSessionReply>(open).session_id();
  for (int second = 0; second < 100; ++second) {
    v1::ReportSessionRequest report;
    report.set_session_id(session);
    h.Do<v1::ReportSessionReply>(report);
    h.Pass(kSecond, {"a"});
  }
  EXPECT_EQ(h.JobStatus("train").state(), v1::READY);
  EXPECT_EQ(h.JobStatus("train").idle_seconds(), 0u);
  v1::CloseSessionRequest close;
  close.set_session_id(session);
  h.Do<v1::CloseSessionReply>(close);
  h.Pass(55 * kSecond, {"a"});
  EXPECT_EQ(h.JobStatus("train").state(), v1::READY);
  EXPECT_GE(h.JobStatus("train").idle_seconds(), 50u);
  h.Pass(10 * kSecond, {"a"});
  EXPECT_EQ(h.JobStatus("train").state(), v1::CANCELLED);
  EXPECT_THAT(h.JobStatus("train").error(), AllOf(HasSubstr("60 s"), HasSubstr("idle_expiry_seconds")));
  EXPECT_THAT(Text(h.StatusOf(open)), HasSubstr("idle_expiry_seconds"));
  EXPECT_EQ(h.JobStatus("endless").state(), v1::READY);
  h.Restart();
  EXPECT_EQ(h.JobStatus("train").state(), v1::CANCELLED);
}

}  // namespace
}  // namespace penstock::coordinator
