// The data set of a job.
#ifndef PENSTOCK_PIPELINE_PLAN_JOB_DATASET_H_
#define PENSTOCK_PIPELINE_PLAN_JOB_DATASET_H_

#include "penstock/v1/job.pb.h"

namespace penstock::plan {

// Returns the job's data set, or an empty one if it has none. A job that was checked (config/job_file.h) has exactly
// one, because a job has one plan, one snapshot and one index. The result refers to `job`.
inline const v1::Dataset& DatasetOf(const v1::JobSpec& job) {
  return job.dataset_size() == 0 ? v1::Dataset::default_instance() : job.dataset(0);
}

// Returns the same data set for changes, or null.
inline v1::Dataset* MutableDatasetOf(v1::JobSpec* job) {
  return job->dataset_size() == 0 ? nullptr : job->mutable_dataset(0);
}

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_JOB_DATASET_H_
