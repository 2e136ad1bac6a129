#include "pipeline/plan/job_dataset.h"

#include <utility>

#include "absl/strings/str_cat.h"

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

std::optional<BatchRule> BatchRuleOf(const v1::Bucket& bucket) {
  if (!HasBatchSizes(bucket)) return std::nullopt;
  return BatchRule{.budget = bucket.budget(),
                   .is_quadratic = bucket.cost() == v1::Bucket::QUADRATIC,
                   .bounds = {bucket.bounds().begin(), bucket.bounds().end()},
                   .sizes = {bucket.sizes().begin(), bucket.sizes().end()},
                   .multiple = std::max<uint64_t>(bucket.multiple(), 1)};
}

WindowOptions WindowOptionsOf(const v1::RecordWindow& window) {
  return {.size = window.size(),
          .stride = window.has_stride() ? window.stride() : window.size(),
          .step = window.has_step() ? window.step() : 1};
}

std::string NoWindowReason(const v1::Dataset& dataset, uint64_t longest_run) {
  const v1::RecordWindow* const window = RecordWindowOf(dataset);
  if (window == nullptr || longest_run == 0) return "";
  const WindowOptions options = WindowOptionsOf(*window);
  if (longest_run >= options.Span()) return "";
  const std::string run = window->by().empty() ? "file" : absl::StrCat("run of one value of `", window->by(), "`");
  return absl::StrCat("a window reaches over ", options.Span(), options.Span() == 1 ? " record" : " records",
                      ", and the longest ", run, " has ", longest_run, ": give a smaller size or step",
                      window->by().empty() ? "" : ", or sort the records so that equal values are neighbors");
}

v1::JobSpec JobOfSet(const v1::JobSpec& job, int set) { return WithSet(WithoutSets(job), job.dataset(set)); }

}  // namespace penstock::plan
