#include "server/worker/jobs/tasks.h"

#include <gmock/gmock.h>

#include "base/file.h"
#include "tests/server/worker/prepared_job.h"

namespace penstock::worker {
namespace {

using ::testing::HasSubstr;
using TasksTest = PreparedJobTest;

TEST_F(TasksTest, ReportsNameEachMistake) {
  const TaskTools tools = MakeTools();
  v1::Task task;
  v1::JobSpec* spec = task.mutable_prepare()->mutable_spec();
  *spec = dataset_.job;
  spec->mutable_dataset(0)->set_files(0, "nothing-*");
  spec->mutable_batch()->set_size(0);
  v1::ReportTaskRequest report = RunTask(task, "me", tools);
  EXPECT_NE(report.code(), 0);
  EXPECT_THAT(report.message(), HasSubstr("nothing-*"));  // both mistakes at once
  EXPECT_THAT(report.message(), HasSubstr("batch.size"));
  EXPECT_FALSE(report.worker_at_fault());

  *task.mutable_probe()->mutable_job() = job_;
  v1::Feature* feature = task.mutable_probe()->mutable_job()->mutable_spec()->add_features();
  feature->set_key("not/there");
  feature->set_type(v1::Feature::INT64);
  report = RunTask(task, "me", tools);
  EXPECT_NE(report.code(), 0);
  EXPECT_THAT(report.message(), HasSubstr("not/there"));
  EXPECT_THAT(report.message(), HasSubstr(dataset_.files[0]));

  task.mutable_index()->mutable_shard()->set_root("data");
  task.mutable_index()->mutable_shard()->set_path("gone");
  report = RunTask(task, "me", tools);
  EXPECT_TRUE(report.worker_at_fault());  // another worker may have it
  EXPECT_THAT(report.message(), HasSubstr("gone"));
}

TEST_F(TasksTest, AMissingKeyFailsTheProbeUnlessAllowed) {
  v1::Task task;
  v1::Job* job = task.mutable_probe()->mutable_job();
  *job = job_;
  // ragged: the worker would make rows, and all of them would be empty
  job->mutable_spec()->mutable_features(1)->set_key("vales");
  job->mutable_spec()->mutable_features(1)->set_column("values");
  ASSERT_TRUE(job->spec().features(1).variable_length());
  v1::ReportTaskRequest report = RunTask(task, "me", MakeTools());
  EXPECT_EQ(report.code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
  EXPECT_FALSE(report.worker_at_fault()) << "every worker would report the same";
  EXPECT_THAT(report.message(), HasSubstr("features[1].key: none of the first 64 records of 2 shards"));
  EXPECT_THAT(report.message(), HasSubstr("did you mean 'values'?"));
  EXPECT_THAT(report.message(), HasSubstr(dataset_.files[0]));
  job->set_allow_missing(true);
  report = RunTask(task, "me", MakeTools());
  EXPECT_EQ(report.code(), 0) << report.message();
}

TEST_F(TasksTest, ListsThePresentFilesWhichMayBeNone) {
  v1::Task task;
  *task.mutable_list()->mutable_spec() = dataset_.job;
  support::WriteShard(dataset_.files[0] + "-more", {"another"});
  v1::ReportTaskRequest report = RunTask(task, "me", MakeTools());
  EXPECT_EQ(report.code(), 0) << report.message();
  ASSERT_EQ(report.files_size(), 3);
  EXPECT_EQ(report.files(0).path(), "data-00000");
  EXPECT_EQ(report.files(0).size(), job_.snapshot().shards(0).size());
  EXPECT_EQ(report.files(1).path(), "data-00000-more");
  task.mutable_list()->mutable_spec()->mutable_dataset(0)->set_files(0, "nothing-*");
  report = RunTask(task, "me", MakeTools());
  EXPECT_EQ(report.code(), 0) << report.message();
  EXPECT_EQ(report.files_size(), 0);
}

TEST_F(TasksTest, AJobWithRowsTooLargeForAMessageIsRejectedWithTheNumbers) {
  v1::Task task;
  *task.mutable_prepare()->mutable_spec() = dataset_.job;
  v1::Feature* feature = task.mutable_prepare()->mutable_spec()->add_features();
  feature->set_key("wide");
  feature->set_type(v1::Feature::INT64);
  feature->add_shape(9'000'000);
  const v1::ReportTaskRequest report = RunTask(task, "me", MakeTools());
  EXPECT_EQ(report.code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(report.message(), HasSubstr("72000"));
  EXPECT_THAT(report.message(), HasSubstr("67043328"));
  EXPECT_FALSE(report.worker_at_fault());
}

// Policies apply to records: with an unknown record list of a shard there is no record to mask.
TEST_F(TasksTest, AShardThatCannotBeWalkedIsRejectedWithARemedy) {
  const TaskTools tools = MakeTools();
  v1::Task task;
  *task.mutable_index()->mutable_shard() = job_.snapshot().shards(0);
  const auto content = ReadWholeFile(dataset_.files[0]);
  ASSERT_TRUE(content.ok());
  ASSERT_TRUE(WriteFileAtomically(dataset_.files[0], content->substr(0, content->size() - 3)).ok());
  const v1::ReportTaskRequest report = RunTask(task, "me", tools);
  EXPECT_EQ(report.code(), static_cast<int>(absl::StatusCode::kDataLoss));
  EXPECT_FALSE(report.worker_at_fault());
  EXPECT_THAT(report.message(), HasSubstr(dataset_.files[0]));
  EXPECT_THAT(report.message(), HasSubstr("at offset"));
  EXPECT_THAT(report.message(), HasSubstr("under any errors.policy"));
  EXPECT_THAT(report.message(), HasSubstr("penstock verify"));
}

TEST_F(TasksTest, AFileThatDiffersFromTheSnapshotIsNamed) {
  const sources::SnapshotShard shard = server::SnapshotOf(job_.snapshot())->shards()[0];
  support::WriteShard(dataset_.files[0], {"another"});
  const auto index = indexes_.Get(shard, dataset_.files[0], sources::IndexOptions());
  EXPECT_EQ(index.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(index.status().message()), HasSubstr(dataset_.files[0]));
}

}  // namespace
}  // namespace penstock::worker
