// The coordinator's tasks that need the data mounted: expanding globs, indexing shards, making a first row, checking
// copies of records, freeing indexes and cached data of a job.
#ifndef PENSTOCK_SERVER_WORKER_JOBS_TASKS_H_
#define PENSTOCK_SERVER_WORKER_JOBS_TASKS_H_

#include <string>
#include <vector>

#include "base/runtime/executor.h"
#include "penstock/v1/control.pb.h"
#include "pipeline/loader/loader.h"
#include "pipeline/sources/dataset_files.h"
#include "server/worker/indexes/shard_indexes.h"
#include "server/worker/jobs/served_jobs.h"
#include "server/worker/link/coordinator_link.h"

namespace penstock::worker {

// Tools for tasks. All pointers must outlive the tasks.
struct TaskTools {
  storage::Storage* storage = nullptr;  // storage of the data sets
  std::vector<sources::DataRoot> roots;
  ShardIndexes* indexes = nullptr;
  CoordinatorLink* link = nullptr;
  ServedJobs* jobs = nullptr;
  loader::Loader* loader = nullptr;  // its caches are purged
  Executor* slow_work = nullptr;     // opens shards; null: loader::SlowWorkThreads()
};

// Runs the task and returns the report, including `worker_id` and `task_id`. The report contains errors, which name the
// file, record, feature or op. worker_at_fault: another machine may succeed, for example because it can read the data.
// Blocks; thread-safe.
v1::ReportTaskRequest RunTask(const v1::Task& task, const std::string& worker_id, const TaskTools& tools);

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_JOBS_TASKS_H_
