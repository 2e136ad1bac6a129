#include "server/worker/link/job_loads.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace penstock::worker {
namespace {

TEST(JobLoads, JobsOfTheSameNameAreReportedTogether) {
  loader::JobTimes before, after;
  before.job = after.job = "train";
  before.rows = 10;
  after.rows = 5;
  before.making_seconds = 2;
  after.making_seconds = 1;
  before.stages = {{"decode", 1}, {"resize", 0.5}};
  after.stages = {{"decode", 3}};
  v1::WorkerLoad load;
  AddJobLoads({before, after}, {{"train", {.bytes = 7, .sending = kSecond, .full = 2 * kSecond, .streams = 3}}}, &load);
  ASSERT_EQ(load.jobs_size(), 1);
  const v1::JobLoad& job = load.jobs(0);
  EXPECT_EQ(job.rows(), 15u);
  EXPECT_EQ(job.making_seconds(), 3);
  ASSERT_EQ(job.stages_size(), 2);
  EXPECT_EQ(job.stages(0).name(), "decode");
  EXPECT_EQ(job.stages(0).seconds(), 4);
  EXPECT_EQ(job.bytes_sent(), 7u);
  EXPECT_EQ(job.send_seconds(), 1);
  EXPECT_EQ(job.full_seconds(), 2);
  EXPECT_EQ(job.streams(), 3u);
}

TEST(JobLoads, AreBounded) {
  std::vector<loader::JobTimes> times(100);
  std::map<std::string, JobSends::Sums> sends;
  for (size_t i = 0; i < times.size(); ++i) {
    times[i].job = absl::StrCat("job-", i);
    times[i].making_seconds = static_cast<double>(i);
    for (int stage = 0; stage < 100; ++stage) times[i].stages.push_back({absl::StrCat("op-", stage), 1});
  }
  sends["job-3"].streams = 1;  // a current stream, although it took little time
  v1::WorkerLoad load;
  AddJobLoads(times, sends, &load);
  ASSERT_EQ(load.jobs_size(), static_cast<int>(kMostJobLoads));
  EXPECT_EQ(load.jobs(0).job(), "job-3");
  EXPECT_EQ(load.jobs(1).job(), "job-99");
  ASSERT_EQ(load.jobs(0).stages_size(), static_cast<int>(kMostStages) + 1);
  double sum = 0;
  for (const v1::StageSeconds& stage : load.jobs(0).stages()) sum += stage.seconds();
  EXPECT_EQ(sum, 100);
}

TEST(JobLoads, TheDataSetsThatTookMostTimeAreReported) {
  loader::JobTimes times;
  times.job = "train";
  for (uint64_t i = 0; i < 100; ++i) times.datasets.push_back({i, static_cast<double>(i % 50)});
  v1::WorkerLoad load;
  AddJobLoads({times, times}, {}, &load);
  const auto& datasets = load.jobs(0).datasets();
  ASSERT_EQ(datasets.size(), static_cast<int>(kMostDatasets));
  EXPECT_EQ(datasets[0].dataset(), 49u);
  EXPECT_EQ(datasets[0].rows(), 2 * 49u) << "both jobs of the name";
  EXPECT_EQ(datasets[0].seconds(), 2 * 49);
  EXPECT_EQ(datasets[1].dataset(), 99u);
  EXPECT_EQ(datasets[31].seconds(), 2 * 34);
}

TEST(SendTimes, AFullStreamCountsUntilItsMessageIsAccepted) {
  SendTimes times;
  const auto sends = times.Of("train");
  EXPECT_EQ(times.Of("train"), sends);
  sends->Opened();
  sends->Opened();
  sends->Full(10 * kSecond);
  EXPECT_EQ(times.Get(13 * kSecond).at("train").full, 3 * kSecond);
  sends->Full(14 * kSecond);
  sends->Taken(16 * kSecond);
  EXPECT_EQ(times.Get(17 * kSecond).at("train").full, (4 + 2 * 2 + 1) * kSecond);
  sends->Taken(18 * kSecond);
  EXPECT_EQ(times.Get(100 * kSecond).at("train").full, (4 + 2 * 2 + 2) * kSecond);
  sends->Closed();
  EXPECT_EQ(times.Get(100 * kSecond).at("train").streams, 1u);
}

TEST(SendTimes, ManyJobsWithoutAStreamAreForgotten) {
  SendTimes times;
  const auto kept = times.Of("kept");
  for (int i = 0; i < 1000; ++i) times.Of(absl::StrCat("job-", i));
  EXPECT_LT(times.Get(0).size(), 100u);
  EXPECT_EQ(times.Get(0).count("kept"), 1u);
}

}  // namespace
}  // namespace penstock::worker
