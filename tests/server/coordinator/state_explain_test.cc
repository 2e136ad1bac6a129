// From heartbeats and reports to a verdict, in the coordinator's state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/server/coordinator/state_harness.h"

namespace penstock::coordinator {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Code = absl::StatusCode;

class CoordinatorExplains : public ::testing::Test {
 protected:
  CoordinatorExplains() {
    h.Register("a");
    h.Prepare("train", {"a"});
  }
  absl::StatusOr<v1::ExplainReply> Ask(const std::string& job) {
    v1::ExplainRequest request;
    request.set_job(job);
    return h.state->Explain(request, h.now);
  }
  void Open() { session_ = h.Do<v1::OpenSessionReply>(SessionOn("train")).session_id(); }
  // Passes ten seconds. In the part `making` of the time of its 4 threads, worker a makes 1000 rows/s; in the rest it
  // has no requested rows. The trainer waits for the part `waited` of its time.
  void Pass(double making, double waited) {
    for (int second = 0; second < 10; ++second) {
      h.now += kSecond;
      v1::HeartbeatRequest beat = BeatOf("a");
      v1::JobLoad* load = beat.mutable_load()->add_jobs();
      load->set_job("train");
      load->set_rows(rows_ += 1000);
      load->set_making_seconds(making_ += 4 * making);
      load->set_unrequested_seconds(unrequested_ += 4 * (1 - making));
      load->set_streams(1);
      beat.mutable_load()->set_capacity(1000 / making);
      beat.mutable_load()->set_cpu_seconds(making_);
      if (!file_error_.empty()) beat.mutable_load()->add_troubles(file_error_);
      h.Do<v1::HeartbeatReply>(beat);
      v1::ReportSessionRequest report;
      report.set_session_id(session_);
      report.set_rows(rows_);
      report.mutable_times()->set_seconds(seconds_ += 1);
      report.mutable_times()->set_waited_seconds(waited_ += waited);
      report.mutable_times()->set_steps(rows_ / 10);
      if (!lost_.empty()) report.add_failed_workers(lost_);
      h.Do<v1::ReportSessionReply>(report);
      h.Apply(Tick());
    }
  }
  v1::Explanation::Limit Limit() {
    const auto reply = Ask("train");
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? reply->jobs(0).limit() : v1::Explanation::LIMIT_UNKNOWN;
  }

  StateHarness h;
  std::string session_, file_error_, lost_;
  uint64_t rows_ = 0;
  double making_ = 0, unrequested_ = 0, seconds_ = 0, waited_ = 0;
};

TEST_F(CoordinatorExplains, FollowsTheReportsOfTheLastSeconds) {
  Open();
  EXPECT_EQ(Limit(), v1::Explanation::LIMIT_UNKNOWN);
  Pass(0.95, 0.6);
  EXPECT_EQ(Limit(), v1::Explanation::CPU);
  EXPECT_EQ(Ask("train")->jobs(0).workers_needed(), 3u);
  Pass(0.3, 0);
  Pass(0.3, 0);
  EXPECT_EQ(Limit(), v1::Explanation::TRAINER);
  Pass(0.3, 0.6);
  Pass(0.3, 0.6);
  EXPECT_EQ(Limit(), v1::Explanation::WINDOW);
}

TEST_F(CoordinatorExplains, AnotherLimitThatLastsIsAnEvent) {
  const auto limits = [this] {
    v1::DescribeRequest request;
    request.set_name("train");
    std::vector<std::string> texts;
    const absl::StatusOr<v1::DescribeReply> reply = h.state->Describe(request, {}, h.now);
    EXPECT_TRUE(reply.ok()) << reply.status();
    for (const v1::HistoryEvent& event : reply->events()) {
      if (event.kind() == v1::HistoryEvent::LIMIT) texts.push_back(event.message());
    }
    return texts;
  };
  Open();
  Pass(0.3, 0);
  EXPECT_EQ(limits().size(), 0u);
  for (int i = 0; i < 6; ++i) Pass(0.3, 0);
  EXPECT_THAT(limits(), ElementsAre(HasSubstr("the trainer itself")));
  Pass(0.95, 0.6);
  for (int i = 0; i < 2; ++i) Pass(0.3, 0);  // it was another one for some seconds
  EXPECT_EQ(limits().size(), 1u);
  for (int i = 0; i < 6; ++i) Pass(0.95, 0.6);
  EXPECT_THAT(limits(), ElementsAre(HasSubstr("the trainer itself"), HasSubstr("CPU")));
}

TEST_F(CoordinatorExplains, OnlyFilesOfThisJobAreItsLimit) {
  Open();
  file_error_ = "/mnt/other/train-900000: cannot be opened";
  Pass(0.95, 0.6);
  EXPECT_EQ(Limit(), v1::Explanation::CPU);
  file_error_ = "/mnt/data/train-100003: cannot be opened";
  Pass(0.95, 0);
  const auto reply = Ask("train");
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->jobs(0).limit(), v1::Explanation::FILES);
  EXPECT_THAT(reply->jobs(0).sentences(1), HasSubstr("/mnt/data/train-100003"));
}

TEST_F(CoordinatorExplains, ALostWorkerIsNamedWithTheTimeEvenIfTheTrainerNeverWaits) {
  h.Register("b");
  Open();
  Pass(0.3, 0);
  Pass(0.3, 0);
  const auto reply = Ask("train");
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->jobs(0).limit(), v1::Explanation::TRAINER);
  EXPECT_THAT(reply->jobs(0).sentences(), Contains("Worker b was lost 20 s ago: no heartbeat since then."));
  for (int i = 0; i < 60; ++i) Pass(0.3, 0);
  EXPECT_THAT(Ask("train")->jobs(0).sentences(), Not(Contains(HasSubstr("was lost"))));
}

TEST_F(CoordinatorExplains, WithoutALiveWorkerTheLimitIsNoWorker) {
  Open();
  Pass(0.95, 0.6);
  h.Pass(5 * kSecond, {});
  EXPECT_EQ(Limit(), v1::Explanation::NO_WORKER);
}

TEST_F(CoordinatorExplains, AWorkerRemovedByATrainersVoteIsNamedForAWhile) {
  v1::RegisterWorkerRequest request = WorkerCalled("b");
  request.set_name("gpu7");
  h.Do<v1::RegisterWorkerReply>(request);
  Open();
  lost_ = "b";
  Pass(0.95, 0.6);
  EXPECT_NE(h.Worker("b").state(), v1::WorkerStatus::LIVE);
  EXPECT_EQ(Limit(), v1::Explanation::LOST_WORKER);
  EXPECT_EQ(Ask("train")->jobs(0).worker(), "b");
  EXPECT_EQ(Ask("train")->jobs(0).headline(), "worker gpu7, which the trainer cannot reach");
  lost_.clear();
  Pass(0.95, 0.6);
  Pass(0.95, 0.6);
  EXPECT_EQ(Limit(), v1::Explanation::CPU);
}

TEST_F(CoordinatorExplains, AWorkerThatTheTrainerReachesAgainIsNotLost) {
  Open();
  lost_ = "a";
  Pass(0.95, 0.6);
  EXPECT_EQ(h.Worker("a").state(), v1::WorkerStatus::LIVE) << "votes do not remove the only worker";
  EXPECT_EQ(Limit(), v1::Explanation::LOST_WORKER);
  lost_.clear();
  Pass(0.95, 0.6);
  EXPECT_EQ(Limit(), v1::Explanation::CPU);
}

TEST_F(CoordinatorExplains, AnImpossibleExplanationIsAnErrorWithTheReason) {
  EXPECT_EQ(Ask("train").status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(std::string(Ask("train").status().message()), HasSubstr("job train has no reader, so"));
  EXPECT_THAT(std::string(Ask("trian").status().message()), HasSubstr("did you mean 'train'?"));
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("young")));
  EXPECT_THAT(std::string(Ask("young").status().message()), HasSubstr("job young is being prepared"));
  Open();
  Pass(0.95, 0.6);
  EXPECT_TRUE(Ask("train").ok());
  h.now += 11 * kSecond;
  EXPECT_THAT(std::string(Ask("train").status().message()), HasSubstr("1 reader has been silent for over 10 s"));
}

TEST_F(CoordinatorExplains, WithoutANameExplainsAllJobsWithAReader) {
  h.Prepare("eval", {"a"});
  EXPECT_EQ(Ask("")->jobs_size(), 0);
  Open();
  const auto reply = Ask("");
  ASSERT_EQ(reply->jobs_size(), 1);
  EXPECT_EQ(reply->jobs(0).job(), "train");
}

TEST_F(CoordinatorExplains, StatusDoesNotRepeatTheCounts) {
  Open();
  Pass(0.95, 0.6);
  EXPECT_EQ(h.Worker("a").load().jobs_size(), 0);
  EXPECT_GT(h.Worker("a").load().capacity(), 0);
}

}  // namespace
}  // namespace penstock::coordinator
