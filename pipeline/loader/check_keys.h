// Whether a job's keys are in its data set, by its first records.
#ifndef PENSTOCK_PIPELINE_LOADER_CHECK_KEYS_H_
#define PENSTOCK_PIPELINE_LOADER_CHECK_KEYS_H_

#include "absl/status/status.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/loader/dataset_reader.h"

namespace penstock {

// Reads the first records (at most 32, and 64 MiB) of at most 8 shards, spread evenly over the snapshot, until every
// key that the job needs was there: usually one record. Which records follows from job and snapshot alone, so that
// every machine that can read them says the same. Records that are damaged are left out.
//   InvalidArgument  keys that none of those records has, a line each (KeyCheck::Mistakes)
//   others           as DatasetReader::ReadRecord: they could not be read
absl::Status CheckKeys(const v1::JobSpec& job, DatasetReader* reader);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_CHECK_KEYS_H_
