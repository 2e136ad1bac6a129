// Frees the indexes and cached data of an ended job's files.
#ifndef PENSTOCK_SERVER_WORKER_JOBS_PURGE_H_
#define PENSTOCK_SERVER_WORKER_JOBS_PURGE_H_

#include "absl/status/status.h"
#include "penstock/v1/control.pb.h"
#include "server/worker/jobs/tasks.h"

namespace penstock::worker {

// Runs the task `purge`: removes cached records, decoded images and rows of the data set, in memory and on disk, and
// then the indexes of the files. Indexes beside shards stay. Sets *purged to the freed bytes, after an error to those
// of the steps that succeeded. Returns Unavailable while streams use the job. Other errors name the file. Blocks.
absl::Status Purge(const v1::Task& task, const TaskTools& tools, v1::PurgedBytes* purged);

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_JOBS_PURGE_H_
