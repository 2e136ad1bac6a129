// Checks that a job's keys are in the first records of its data set.
#ifndef PENSTOCK_PIPELINE_LOADER_CHECK_KEYS_H_
#define PENSTOCK_PIPELINE_LOADER_CHECK_KEYS_H_

#include "absl/status/status.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/loader/dataset_reader.h"

namespace penstock::loader {

// Reads the first records (at most 32, and 64 MiB) of each of at most 8 shards, spread evenly over the snapshot, until
// it has found every key that the job needs. If data sets have other features or formats, reads at least one shard of
// each. One record is usually enough. The choice of records depends only on job
// and snapshot, so that every machine that can read them returns the same result. Skips damaged records. Returns OK if
// no other record is left.
//   InvalidArgument  keys that none of those records has, one per line (KeyCheck::Mistakes); errors of WithFormatOf()
//   others           from DatasetReader::ReadWholeRecord: the records cannot be read
absl::Status CheckKeys(const v1::JobSpec& job, DatasetReader* reader);

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_CHECK_KEYS_H_
