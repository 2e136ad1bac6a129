#include "pipeline/plan/job_dataset.h"

#include <utility>

namespace penstock::plan {
namespace {

v1::JobSpec WithoutSets(const v1::JobSpec& job) {
  v1::JobSpec rest = job;
  rest.clear_dataset();
  return rest;
}

v1::JobSpec WithSet(v1::JobSpec job, const v1::Dataset& dataset) {
  v1::Dataset* const only = job.add_dataset();
  *only = dataset;
  if (only->features_size() > 0) job.mutable_features()->Swap(only->mutable_features());
  if (only->ops_size() > 0) job.mutable_ops()->Swap(only->mutable_ops());
  only->clear_features();
  only->clear_ops();
  return job;
}

}  // namespace

std::vector<v1::JobSpec> JobsOfSets(const v1::JobSpec& job) {
  const v1::JobSpec rest = WithoutSets(job);
  std::vector<v1::JobSpec> jobs;
  for (const v1::Dataset& dataset : job.dataset()) jobs.push_back(WithSet(rest, dataset));
  if (jobs.empty()) jobs.push_back(rest);
  return jobs;
}

v1::JobSpec JobOfSet(const v1::JobSpec& job, int set) { return WithSet(WithoutSets(job), job.dataset(set)); }

}  // namespace penstock::plan
