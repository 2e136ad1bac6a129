// The data sets of a job.
#ifndef PENSTOCK_PIPELINE_PLAN_JOB_DATASET_H_
#define PENSTOCK_PIPELINE_PLAN_JOB_DATASET_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "penstock/v1/job.pb.h"
#include "pipeline/plan/batch_limits.h"
#include "pipeline/plan/record_windows.h"
#include "pipeline/plan/value_bins.h"

namespace penstock::plan {

// Returns the job's first data set, or an empty one if it has none. The result refers to `job`.
inline const v1::Dataset& DatasetOf(const v1::JobSpec& job) {
  return job.dataset_size() == 0 ? v1::Dataset::default_instance() : job.dataset(0);
}

// Returns the same data set for changes, or null.
inline v1::Dataset* MutableDatasetOf(v1::JobSpec* job) {
  return job->dataset_size() == 0 ? nullptr : job->mutable_dataset(0);
}

// Returns whether a data set of the job selects records.
inline bool SelectsRecords(const v1::JobSpec& job) {
  return std::any_of(job.dataset().begin(), job.dataset().end(),
                     [](const v1::Dataset& dataset) { return !dataset.select().empty(); });
}

// Returns whether a step makes groups of the records.
inline bool MakesGroups(const v1::Select& step) {
  return step.has_balance() || step.has_weights() || step.has_sort() || step.has_bucket();
}

// Returns the step that makes groups of a data set's records, or null.
inline const v1::Select* GroupingStepOf(const v1::Dataset& dataset) {
  const auto& steps = dataset.select();
  const auto found = std::find_if(steps.begin(), steps.end(), MakesGroups);
  return found == steps.end() ? nullptr : &*found;
}

// Limits of a pack.
constexpr uint64_t kMaxPackLength = uint64_t{1} << 28, kMaxPackWindow = uint64_t{1} << 24;

// Returns the step that packs a data set's records, or null.
inline const v1::Pack* PackOf(const v1::Dataset& dataset) {
  const auto& steps = dataset.select();
  const auto found = std::find_if(steps.begin(), steps.end(), [](const v1::Select& step) { return step.has_pack(); });
  return found == steps.end() ? nullptr : &found->pack();
}

// Returns the step that makes windows of a data set's records, or null.
inline const v1::RecordWindow* RecordWindowOf(const v1::Dataset& dataset) {
  const auto& steps = dataset.select();
  const auto found = std::find_if(steps.begin(), steps.end(), [](const v1::Select& step) { return step.has_window(); });
  return found == steps.end() ? nullptr : &found->window();
}
WindowOptions WindowOptionsOf(const v1::RecordWindow& window);
// Returns why a data set with a longest run of this many records has no rows, or "" if its windows are not the reason.
std::string NoWindowReason(const v1::Dataset& dataset, uint64_t longest_run);

// Returns whether a step makes rows of several records.
inline bool MakesRows(const v1::Select& step) { return step.has_pack() || step.has_window(); }
inline bool MakesRows(const v1::Dataset& dataset) {
  const auto& steps = dataset.select();
  return std::any_of(steps.begin(), steps.end(), [](const v1::Select& step) { return MakesRows(step); });
}

// Returns whether the groups of a step are bins of a value (value_bins.h).
inline bool MakesBins(const v1::Select& step) { return step.has_sort() || step.has_bucket(); }
// Returns how such a step divides its values.
inline BinRule BinRuleOf(const v1::Select& step) {
  constexpr uint32_t kDefaultBuckets = 256;
  if (step.has_sort()) return {.bins = step.sort().bins(), .bounds = {}};
  const v1::Bucket& bucket = step.bucket();
  return {.bins = bucket.bins() == 0 ? kDefaultBuckets : bucket.bins(),
          .bounds = {bucket.bounds().begin(), bucket.bounds().end()}};
}
// Returns whether the sizes of a bucket's batches depend on their values.
inline bool HasBatchSizes(const v1::Bucket& bucket) { return bucket.budget() != 0 || bucket.sizes_size() > 0; }
// Returns how the values of a bucket decide about the sizes of its batches, or nullopt if all have one size.
std::optional<BatchRule> BatchRuleOf(const v1::Bucket& bucket);

// Returns whether the data set replaces features or ops of its job, or makes rows of several records.
inline bool HasOwnColumns(const v1::Dataset& dataset) {
  return dataset.features_size() + dataset.ops_size() > 0 || MakesRows(dataset);
}
// Returns whether a data set of the job makes rows of several records.
inline bool MakesRows(const v1::JobSpec& job) {
  return std::any_of(job.dataset().begin(), job.dataset().end(),
                     [](const v1::Dataset& dataset) { return MakesRows(dataset); });
}

// Returns the job of each of its data sets alone, with the features and ops that the data set has; of a job without
// data sets, itself.
std::vector<v1::JobSpec> JobsOfSets(const v1::JobSpec& job);
// Returns one of them. set < job.dataset_size().
v1::JobSpec JobOfSet(const v1::JobSpec& job, int set);

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_JOB_DATASET_H_
