// The data set of a job.
#ifndef PENSTOCK_PIPELINE_PLAN_JOB_DATASET_H_
#define PENSTOCK_PIPELINE_PLAN_JOB_DATASET_H_

#include "penstock/v1/job.pb.h"

namespace penstock::plan {

// Returns the job's first data set, or an empty one if it has none. If the job was checked (config/job_file.h), all of
// its data sets have the same compression, source and format, and only a job of one data set selects records. The
// result refers to `job`.
inline const v1::Dataset& DatasetOf(const v1::JobSpec& job) {
  return job.dataset_size() == 0 ? v1::Dataset::default_instance() : job.dataset(0);
}

// Returns the same data set for changes, or null.
inline v1::Dataset* MutableDatasetOf(v1::JobSpec* job) {
  return job->dataset_size() == 0 ? nullptr : job->mutable_dataset(0);
}

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_JOB_DATASET_H_
