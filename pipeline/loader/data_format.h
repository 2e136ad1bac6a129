// The format of a job's records, which the container of its shards decides.
#ifndef PENSTOCK_PIPELINE_LOADER_DATA_FORMAT_H_
#define PENSTOCK_PIPELINE_LOADER_DATA_FORMAT_H_

#include "absl/status/statusor.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/sources/shard_kind.h"

namespace penstock {

// Returns the job with dataset.format SAMPLE if its shards are tar archives, otherwise unchanged. Returns
// InvalidArgument for a format that the container does not have.
absl::StatusOr<v1::JobSpec> WithFormatOf(ContainerKind container, const v1::JobSpec& job);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_DATA_FORMAT_H_
