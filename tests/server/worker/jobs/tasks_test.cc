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

// Records what a purge asks for.
class PurgedLoader final : public loader::Loader {
 public:
  absl::StatusOr<std::unique_ptr<Session>> OpenSession(std::shared_ptr<const loader::LoadJob>,
                                                       const loader::LoaderSessionOptions&, loader::RowSink*) override {
    return absl::UnimplementedError("no sessions");
  }
  loader::LoaderStats Stats() const override { return {}; }
  absl::StatusOr<loader::PurgedCaches> PurgeCaches(uint64_t record_space) override {
    spaces.push_back(record_space);
    return result;
  }
  std::vector<uint64_t> spaces;
  absl::StatusOr<loader::PurgedCaches> result = loader::PurgedCaches{100, 2000};
};

TEST_F(TasksTest, APurgeFreesCachesAndIndexesOfTheJob) {
  ServedJobs jobs(storage::LocalFiles(), dataset_.roots, &indexes_);
  PurgedLoader loader;
  TaskTools tools = MakeTools();
  tools.jobs = &jobs;
  tools.loader = &loader;
  v1::Task task;
  task.set_job(job_.name());
  task.set_job_uid(job_.uid());
  for (const v1::Shard& shard : job_.snapshot().shards()) *task.mutable_purge()->add_shards() = shard;
  *task.mutable_purge()->add_shards() = task.purge().shards(0);
  task.mutable_purge()->mutable_shards(2)->set_path("gone");
  *task.mutable_purge()->add_shards() = task.purge().shards(0);
  task.mutable_purge()->mutable_shards(3)->set_root("root of other workers");
  const auto load =
      BuildLoadJob(storage::LocalFiles(), job_, dataset_.roots, *indexes_.ProviderFor(job_, dataset_.roots));
  task.mutable_purge()->set_data_set((*load)->reader().snapshot().Fingerprint());
  *task.mutable_purge()->mutable_spec() = job_.spec();

  loader.result = absl::UnavailableError("streams");
  v1::ReportTaskRequest report = RunTask(task, "me", tools);
  EXPECT_EQ(report.code(), static_cast<int>(absl::StatusCode::kUnavailable));
  EXPECT_TRUE(indexes_.store().Load(dataset_.files[0]).ok()) << "streams may need it";

  loader.result = loader::PurgedCaches{100, 2000};
  uint64_t bytes = 0;
  for (const std::string& file : dataset_.files) bytes += StatFile(indexes_.store().SidecarPath(file))->size;
  report = RunTask(task, "me", tools);
  EXPECT_EQ(report.code(), 0) << report.message();
  EXPECT_EQ(report.purged().indexes(), bytes);
  EXPECT_EQ(report.purged().memory(), 100u);
  EXPECT_EQ(report.purged().disk(), 2000u);
  EXPECT_EQ(loader.spaces, std::vector<uint64_t>(2, (*load)->record_space()));
  EXPECT_TRUE(absl::IsNotFound(indexes_.store().Load(dataset_.files[1]).status()));
  task.mutable_purge()->clear_data_set();  // another job uses it
  EXPECT_EQ(RunTask(task, "me", tools).purged().ByteSizeLong(), 0u);
  EXPECT_EQ(loader.spaces.size(), 2u);
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
  const sources::SnapshotShard shard = sources::SnapshotOf(job_.snapshot())->shards()[0];
  support::WriteShard(dataset_.files[0], {"another"});
  const auto index = indexes_.Get(shard, dataset_.files[0], sources::IndexOptions());
  EXPECT_EQ(index.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(index.status().message()), HasSubstr(dataset_.files[0]));
}

}  // namespace
}  // namespace penstock::worker
