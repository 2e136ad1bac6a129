// Jobs in their parts, for fakes of the coordinator and the worker.
#ifndef PENSTOCK_TESTS_SUPPORT_JOB_PARTS_H_
#define PENSTOCK_TESTS_SUPPORT_JOB_PARTS_H_

#include <cstdint>
#include <memory>

#include "net/job_mirror.h"

namespace penstock::support {

// Returns all parts of a job, for a client that holds none. If `metadata_id` is 0, the update has no metadata.
inline v1::JobUpdate UpdateOf(const v1::Job& job, uint64_t metadata_id) {
  v1::JobUpdate update;
  *update.mutable_record() = net::RecordOf(job, metadata_id);
  if (metadata_id != 0) *update.mutable_metadata() = net::MetadataOf(job);
  if (job.has_view()) *update.mutable_view() = job.view();
  return update;
}

// Returns the job as its watcher holds it.
inline net::WatchedJob ToWatched(const v1::Job& job) {
  net::WatchedJob watched;
  watched.record = net::RecordOf(job, 0);
  watched.metadata = std::make_shared<const v1::JobMetadata>(net::MetadataOf(job));
  if (job.has_view()) watched.view = std::make_shared<const v1::View>(job.view());
  return watched;
}

}  // namespace penstock::support

#endif  // PENSTOCK_TESTS_SUPPORT_JOB_PARTS_H_
