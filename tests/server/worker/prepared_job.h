// A job of 2 shards with 40 records each. The worker's own tasks prepare it, as for a coordinator.
#ifndef PENSTOCK_TESTS_SERVER_WORKER_PREPARED_JOB_H_
#define PENSTOCK_TESTS_SERVER_WORKER_PREPARED_JOB_H_

#include <gtest/gtest.h>

#include <string>

#include "pipeline/loader/load_job.h"
#include "pipeline/sources/index_store.h"
#include "pipeline/storage/posix_storage.h"
#include "server/worker/indexes/shard_indexes.h"
#include "server/worker/jobs/served_jobs.h"
#include "server/worker/jobs/tasks.h"
#include "tests/support/test_dataset.h"

namespace penstock::worker {

// An unreachable coordinator: everything works without it.
class NoCoordinator : public CoordinatorLink {
 public:
  void Register(const v1::RegisterWorkerRequest&, Done<v1::RegisterWorkerReply> done) override { done(Away()); }
  void Heartbeat(const v1::HeartbeatRequest&, Done<v1::HeartbeatReply> done) override { done(Away()); }
  void Watch(const v1::WatchRequest&, Done<v1::WatchReply> done) override { done(Away()); }
  void ReportTask(const v1::ReportTaskRequest&, Done<v1::ReportTaskReply> done) override { done(Away()); }
  absl::Status PutIndex(uint64_t, std::string) override { return Away(); }
  absl::StatusOr<v1::GetIndexReply> GetIndex(const v1::GetIndexRequest&) override { return Away(); }
  void Cancel() override {}

 private:
  static absl::Status Away() { return absl::UnavailableError("away"); }
};

class PreparedJobTest : public ::testing::Test {
 protected:
  PreparedJobTest()
      : dataset_(support::MakeNumberDataset({.shards = 2, .records_per_shard = 40}, folder_.path())),
        indexes_(sources::IndexStore::InStateDir(storage::LocalFiles(), state_.path()), &coordinator_) {
    MakeJob();
  }

  TaskTools MakeTools() {
    TaskTools tools;
    tools.storage = storage::LocalFiles();
    tools.roots = dataset_.roots;
    tools.indexes = &indexes_;
    tools.link = &coordinator_;
    return tools;
  }

  support::TempFolder folder_, state_;
  support::TestDataset dataset_;
  NoCoordinator coordinator_;
  ShardIndexes indexes_;
  v1::Job job_;

 private:
  void MakeJob() {
    const TaskTools tools = MakeTools();
    v1::Task task;
    task.set_id(4);
    *task.mutable_prepare()->mutable_spec() = dataset_.job;
    const v1::ReportTaskRequest prepared = RunTask(task, "me", tools);
    ASSERT_EQ(prepared.code(), 0) << prepared.message();
    EXPECT_EQ(prepared.task_id(), 4u);
    job_.set_name(dataset_.job.name());
    job_.set_uid(99);
    *job_.mutable_spec() = dataset_.job;
    job_.set_state(v1::READY);
    *job_.mutable_columns() = prepared.columns();
    job_.set_pipeline_fingerprint(prepared.pipeline_fingerprint());
    for (const v1::Shard& file : prepared.files()) {
      task.mutable_index()->mutable_shard()->CopyFrom(file);
      const v1::ReportTaskRequest indexed = RunTask(task, "me", tools);
      ASSERT_EQ(indexed.code(), 0) << indexed.message();
      *job_.mutable_snapshot()->add_shards() = indexed.shard();
    }
    *task.mutable_probe()->mutable_job() = job_;
    const v1::ReportTaskRequest probed = RunTask(task, "me", tools);
    ASSERT_EQ(probed.code(), 0) << probed.message();
    const auto load =
        BuildLoadJob(storage::LocalFiles(), job_, dataset_.roots, *indexes_.ProviderFor(job_, dataset_.roots));
    ASSERT_TRUE(load.ok());
    job_.set_order_fingerprint((*load)->order_fingerprint());
  }
};

}  // namespace penstock::worker

#endif  // PENSTOCK_TESTS_SERVER_WORKER_PREPARED_JOB_H_
