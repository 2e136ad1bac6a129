// The format of a job's records, and the features that the job reads. Both depend on the container of its shards.
#ifndef PENSTOCK_PIPELINE_LOADER_DATA_FORMAT_H_
#define PENSTOCK_PIPELINE_LOADER_DATA_FORMAT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/sources/requested_features.h"
#include "pipeline/sources/shard_kind.h"

namespace penstock::loader {

// Returns the job with dataset.format SAMPLE if its shards are tar archives, and JSON if they are JSONL files and the
// format is not RAW. Otherwise returns it unchanged. Returns InvalidArgument for a format that the container does not
// have.
absl::StatusOr<v1::JobSpec> WithFormatOf(sources::ContainerKind container, const v1::JobSpec& job);

// Returns the features that the job reads, or null if it reads whole records. A job reads whole records if the
// container does not store features apart, or if the job names no features. Ignores mistakes in the keys.
std::shared_ptr<const sources::RequestedFeatures> RequestedFeaturesOf(sources::ContainerKind container,
                                                                      const v1::JobSpec& job);

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_DATA_FORMAT_H_
