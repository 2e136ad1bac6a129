// The coordinator's work that needs the data mounted: expanding globs, indexing shards, trying the first record.
#ifndef PENSTOCK_SERVER_WORKER_JOBS_TASKS_H_
#define PENSTOCK_SERVER_WORKER_JOBS_TASKS_H_

#include <string>
#include <vector>

#include "penstock/v1/control.pb.h"
#include "pipeline/records/dataset_files.h"
#include "server/worker/indexes/shard_indexes.h"
#include "server/worker/link/coordinator_link.h"

namespace penstock {

// What tasks work with. All pointers outlive them.
struct TaskTools {
  std::vector<DataRoot> roots;
  ShardIndexes* indexes = nullptr;
  CoordinatorLink* link = nullptr;
};

// Does the task and says how it went, `worker_id` and `task_id` filled in: errors are in the report, which names the
// file, record, feature or op. worker_at_fault: this machine could not read what another one perhaps can. Blocks;
// thread-safe.
v1::ReportTaskRequest RunTask(const v1::Task& task, const std::string& worker_id, const TaskTools& tools);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_JOBS_TASKS_H_
