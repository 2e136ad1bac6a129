// The format of a job's records, and the features that the job reads. Both depend on the container of its shards.
#ifndef PENSTOCK_PIPELINE_LOADER_DATA_FORMAT_H_
#define PENSTOCK_PIPELINE_LOADER_DATA_FORMAT_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/sources/requested_features.h"
#include "pipeline/sources/shard_kind.h"

namespace penstock::loader {

// Returns the job of one data set with the format of its container (records::FormatOf) as dataset.format. A TFRecord,
// JSONL or text file may also have the format RAW, and a TFRecord file SEQUENCE_EXAMPLE: then returns it unchanged.
// Returns InvalidArgument for a format that the container does not have.
absl::StatusOr<v1::JobSpec> WithFormatOf(sources::ContainerKind container, const v1::JobSpec& job);

// Returns the job of each data set alone (plan::JobsOfSets), with the format of its container. Returns the errors of
// WithFormatOf(), which name the data set if there are several.
absl::StatusOr<std::vector<v1::JobSpec>> JobsWithFormats(const std::vector<sources::ContainerKind>& containers,
                                                         const v1::JobSpec& job);

// Features that the data sets of a job read, by data set; null: whole records. Empty: all data sets read whole records.
using SetFeatures = std::vector<std::shared_ptr<const sources::RequestedFeatures>>;

// Returns the features that the data sets of the job read.
SetFeatures SetFeaturesOf(const std::vector<sources::ContainerKind>& containers, const v1::JobSpec& job);

// Returns the features that the job of one data set reads, or null if it reads whole records. A job reads whole records
// if the container does not store features apart, or if the job names no features. Ignores mistakes in the keys.
std::shared_ptr<const sources::RequestedFeatures> RequestedFeaturesOf(sources::ContainerKind container,
                                                                      const v1::JobSpec& job);

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_DATA_FORMAT_H_
