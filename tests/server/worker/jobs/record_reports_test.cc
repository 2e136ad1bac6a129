#include "server/worker/jobs/record_reports.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/runtime/sim_scheduler.h"
#include "tests/server/worker/prepared_job.h"

namespace penstock::worker {
namespace {

// Answers reports a millisecond later, on virtual time.
class ReportsLink final : public NoCoordinator {
 public:
  explicit ReportsLink(Executor* executor) : executor_(executor) {}
  void ReportRecords(const v1::ReportRecordsRequest& request, Done<v1::ReportRecordsReply> done) override {
    requests.push_back(request);
    executor_->PostAt(executor_->clock()->Now() + kMillisecond, [this, done = std::move(done)] {
      v1::ReportRecordsReply reply;
      reply.set_register_again(unknown);
      away ? done(absl::UnavailableError("coordinator: away")) : done(reply);
    });
  }
  std::vector<v1::ReportRecordsRequest> requests;
  bool away = false, unknown = false;

 private:
  Executor* const executor_;
};

class RecordReportsTest : public ::testing::Test {
 protected:
  RecordReportsTest() {
    v1::RegisterWorkerRequest registration;
    registration.set_id("w");
    registration.set_incarnation(5);
    reports_ = std::make_shared<RecordReports>(registration, &link_, &sim_);
  }
  ~RecordReportsTest() override {
    reports_->Stop();
    sim_.RunFor(60 * kSecond);
    EXPECT_EQ(sim_.waiting(), 0u) << "something goes on after the stop";
  }
  void Add(const std::string& job, uint64_t uid, uint64_t number) {
    v1::BadRecord record;
    record.set_record(number);
    record.set_message("what");
    reports_->Add(job, uid, record);
  }
  int Reported() const {
    int records = 0;
    for (const auto& request : link_.requests) {
      for (const v1::JobRecords& of : request.jobs()) records += of.bad_size();
    }
    return records;
  }

  SimScheduler sim_{1};
  ReportsLink link_{&sim_};
  std::shared_ptr<RecordReports> reports_;
};

TEST_F(RecordReportsTest, ReportsTheFirstRecordAtOnceAndFurtherOnesTogether) {
  Add("train", 1, 7);
  sim_.RunFor(kMillisecond);
  ASSERT_EQ(link_.requests.size(), 1u);
  EXPECT_EQ(link_.requests[0].worker_id(), "w");
  EXPECT_EQ(link_.requests[0].incarnation(), 5u);
  ASSERT_EQ(link_.requests[0].jobs_size(), 1);
  EXPECT_EQ(link_.requests[0].jobs(0).job_uid(), 1u);
  EXPECT_EQ(link_.requests[0].jobs(0).bad(0).record(), 7u);
  for (uint64_t i = 0; i < 3; ++i) Add("train", 1, i);
  Add("eval", 2, 9);
  sim_.RunFor(RecordReports::kBetween);
  ASSERT_EQ(link_.requests.size(), 2u);
  ASSERT_EQ(link_.requests[1].jobs_size(), 2);
  EXPECT_EQ(link_.requests[1].jobs(0).bad_size(), 3);
  EXPECT_EQ(link_.requests[1].jobs(1).job(), "eval");
  sim_.RunFor(60 * kSecond);
  EXPECT_EQ(link_.requests.size(), 2u);
}

TEST_F(RecordReportsTest, RepeatsAReportUntilTheCoordinatorAcceptsIt) {
  link_.away = true;
  Add("train", 1, 7);
  sim_.RunFor(5 * kSecond + kSecond / 2);
  EXPECT_EQ(link_.requests.size(), 6u);
  Add("train", 1, 8);
  link_.away = false;
  link_.unknown = true;
  sim_.RunFor(kSecond);
  EXPECT_EQ(link_.requests.back().jobs(0).bad_size(), 2);
  link_.unknown = false;
  sim_.RunFor(kSecond);
  EXPECT_EQ(link_.requests.back().jobs(0).bad_size(), 2);
  const size_t before = link_.requests.size();
  sim_.RunFor(10 * kSecond);
  EXPECT_EQ(link_.requests.size(), before);
}

TEST_F(RecordReportsTest, KeepsABoundedListAndFewMessages) {
  link_.away = true;
  for (uint64_t i = 0; i < RecordReports::kMostWaiting + 10; ++i) Add("train", 1, i);
  sim_.RunFor(kSecond / 2);
  link_.away = false;
  link_.requests.clear();
  sim_.RunFor(60 * kSecond);
  EXPECT_EQ(Reported(), static_cast<int>(RecordReports::kMostWaiting));
  size_t messages = 0;
  for (const auto& request : link_.requests) {
    for (const v1::BadRecord& record : request.jobs(0).bad()) messages += record.message().empty() ? 0 : 1;
  }
  EXPECT_EQ(messages, RecordReports::kMostMessages);
}

TEST_F(RecordReportsTest, AFlushReportsAllWaitingRecordsAndEndsWithTheFirstFailure) {
  int flushed = 0;
  reports_->Flush([&] { ++flushed; });
  sim_.RunFor(0);
  EXPECT_EQ(flushed, 1) << "nothing waits";
  for (uint64_t i = 0; i < 2 * RecordReports::kMostInReport; ++i) Add("train", 1, i);
  reports_->Flush([&] {
    ++flushed;
    EXPECT_EQ(Reported(), static_cast<int>(2 * RecordReports::kMostInReport));
  });
  sim_.RunFor(10 * kMillisecond);
  EXPECT_EQ(flushed, 2);
  link_.away = true;
  Add("train", 1, 1);
  reports_->Flush([&] { ++flushed; });
  sim_.RunFor(kSecond / 2);
  EXPECT_EQ(flushed, 3);
}

}  // namespace
}  // namespace penstock::worker
