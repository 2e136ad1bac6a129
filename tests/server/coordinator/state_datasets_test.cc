// The data sets of a blend in the coordinator's status.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/coordinator/state_harness.h"

namespace penstock::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CoordinatorDatasets : public ::testing::Test {
 protected:
  CoordinatorDatasets() {
    v1::RegisterWorkerRequest worker = WorkerCalled("a");
    worker.mutable_protocols()->set_oldest(1);
    worker.mutable_protocols()->set_newest(1000);
    h.Do<v1::RegisterWorkerReply>(worker);
  }

  // Prepares a job of data sets of 2 shards, and so of 50 records, with these weights.
  void Prepare(const std::vector<double>& weights, uint64_t epoch_rows) {
    v1::JobSpec spec = SimpleSpec("train");
    spec.clear_dataset();
    for (size_t set = 0; set < weights.size(); ++set) {
      v1::Dataset* const dataset = spec.add_dataset();
      dataset->set_name(absl::StrCat("set", set));
      dataset->set_weight(weights[set]);
      dataset->add_files(absl::StrCat("set", set, "-*"));
    }
    spec.mutable_blend()->set_epoch_rows(epoch_rows);
    h.Do<v1::SubmitReply>(SubmitOf(spec));
    for (bool any = true; any;) {
      any = false;
      for (const v1::Task& task : TasksIn(h.Beat("a"))) {
        v1::ReportTaskRequest report = DoneBy("a", task, static_cast<int>(2 * weights.size()), StateHarness::kRecords);
        if (task.has_prepare()) {
          for (size_t set = 0; set < weights.size(); ++set) report.add_set_files(2);
        }
        h.Report(report);
        any = true;
      }
    }
    ASSERT_EQ(h.Job("train").state(), v1::READY) << h.Job("train").error();
  }

  std::string Open(uint32_t rank, uint32_t world_size, uint64_t position = 0, const std::string& group = "") {
    v1::OpenSessionRequest request = SessionOn("train", rank, world_size, position);
    request.set_group(group);
    return h.Do<v1::OpenSessionReply>(request).session_id();
  }
  void Report(const std::string& session, uint64_t epoch, uint64_t position) {
    v1::ReportSessionRequest report;
    report.set_session_id(session);
    report.set_epoch(epoch);
    report.set_position(position);
    h.Do<v1::ReportSessionReply>(report);
  }
  std::vector<uint64_t> Rows() {
    const v1::StatusReply::JobStatus job = h.JobStatus("train");
    std::vector<uint64_t> rows;
    for (const v1::StatusReply::DatasetStatus& dataset : job.datasets()) rows.push_back(dataset.rows());
    return rows;
  }

  StateHarness h;
};

TEST_F(CoordinatorDatasets, TheStatusHasRowsSharesAndPasses) {
  Prepare({1, 5, 2}, 640);
  v1::StatusReply::JobStatus job = h.JobStatus("train");
  ASSERT_EQ(job.datasets_size(), 3);
  EXPECT_EQ(job.datasets_total(), 3u);
  EXPECT_EQ(job.blend_rows(), 0u);
  EXPECT_EQ(job.datasets(0).name(), "set1") << "the largest first";
  EXPECT_EQ(job.datasets(2).name(), "set0");
  EXPECT_EQ(job.datasets(0).records(), 50u);
  EXPECT_DOUBLE_EQ(job.datasets(0).wanted_share(), 0.625);
  EXPECT_EQ(job.datasets(0).actual_share(), 0);

  Report(Open(0, 1), 2, 320);
  job = h.JobStatus("train");
  EXPECT_EQ(job.blend_rows(), 2 * 640u + 320);
  // A multiple of 64 rows: each set is less than 2 rows from its share.
  EXPECT_NEAR(static_cast<double>(job.datasets(0).rows()), 1000, 2);
  EXPECT_NEAR(static_cast<double>(job.datasets(1).rows()), 400, 2);
  EXPECT_NEAR(job.datasets(0).actual_share(), 0.625, 2.0 / 1600);
  EXPECT_NEAR(job.datasets(2).passes(), 4, 2.0 / 50);
}

TEST_F(CoordinatorDatasets, RanksCountOnceUpToThePositionThatAllHavePassed) {
  Prepare({3, 1}, 640);
  const std::string first = Open(0, 2, 64), second = Open(1, 2, 64);
  EXPECT_EQ(h.JobStatus("train").blend_rows(), 64u) << "they begin there";
  Report(first, 0, 320);
  EXPECT_EQ(h.JobStatus("train").blend_rows(), 64u) << "the other rank has not passed more";
  Report(second, 0, 256);
  EXPECT_EQ(h.JobStatus("train").blend_rows(), 256u);
  Report(second, 1, 0);
  EXPECT_EQ(h.JobStatus("train").blend_rows(), 320u);
}

TEST_F(CoordinatorDatasets, OfSeveralRunsTheFurthestCounts) {
  Prepare({3, 1}, 640);
  const std::string slow = Open(0, 2, 0, "slow"), lone = Open(0, 1, 0, "lone"), other = Open(0, 1, 0, "lone");
  Report(slow, 0, 64);
  Report(lone, 0, 128);
  Report(other, 1, 128);
  EXPECT_EQ(h.JobStatus("train").blend_rows(), 768u);
}

TEST_F(CoordinatorDatasets, ARestartKeepsTheDataSets) {
  Prepare({3, 1}, 640);
  Report(Open(0, 1), 0, 320);
  const std::vector<uint64_t> before = Rows();
  h.Restart();
  EXPECT_THAT(Rows(), ElementsAre(0, 0)) << "no session is open";
  Report(Open(0, 1), 0, 320);
  EXPECT_EQ(Rows(), before);
}

TEST_F(CoordinatorDatasets, TheStatusOfAllJobsHasTheLargestAndThatOfTheJobHasAll) {
  std::vector<double> weights;
  for (int set = 0; set < 100; ++set) weights.push_back(1 + set);
  Prepare(weights, 6400);
  const v1::StatusReply::JobStatus job = h.JobStatus("train");
  EXPECT_EQ(job.datasets_total(), 100u);
  ASSERT_EQ(job.datasets_size(), 20);
  EXPECT_EQ(job.datasets(0).name(), "set99");
  EXPECT_EQ(job.datasets(19).name(), "set80");
  const absl::StatusOr<v1::StatusReply> one = h.state->StatusOf("train", h.now);
  ASSERT_TRUE(one.ok()) << one.status();
  ASSERT_EQ(one->jobs_size(), 1);
  EXPECT_EQ(one->jobs(0).datasets_size(), 100);
  EXPECT_EQ(one->workers_size(), 0);
  EXPECT_THAT(std::string(h.state->StatusOf("trian", h.now).status().message()), HasSubstr("train"));
}

TEST_F(CoordinatorDatasets, AReporterOfAnyPositionIsHarmless) {
  Prepare({3, 1}, 640);
  Report(Open(0, 1), ~uint64_t{0}, ~uint64_t{0});
  const v1::StatusReply::JobStatus job = h.JobStatus("train");
  EXPECT_TRUE(std::isfinite(job.datasets(0).passes()));
  EXPECT_LE(job.datasets(0).actual_share(), 1);
}

TEST_F(CoordinatorDatasets, AJobOfOneDataSetHasNone) {
  h.Prepare("plain", {"a"});
  EXPECT_EQ(h.JobStatus("plain").datasets_total(), 0u);
}

}  // namespace
}  // namespace penstock::coordinator
