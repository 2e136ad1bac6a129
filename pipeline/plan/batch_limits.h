// How many rows a batch may have, by the values of its records.
#ifndef PENSTOCK_PIPELINE_PLAN_BATCH_LIMITS_H_
#define PENSTOCK_PIPELINE_PLAN_BATCH_LIMITS_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace penstock::plan {

// The rule of a job: a budget, or bounds.
struct BatchRule {
  double budget = 0;          // limit of rows * cost, where the cost is the greatest value of the batch,
  bool is_quadratic = false;  // or its square
  // Ascending. Bucket i has the values from bounds[i - 1] up to, but without, bounds[i].
  std::vector<double> bounds = {};
  std::vector<uint64_t> sizes = {};  // without a budget: rows of the batches of each bucket; one more than bounds
  uint64_t multiple = 1;             // batches have a multiple of this number of rows
};

// Returns for each group how many rows its batches may have: at most `most`, and a multiple of rule.multiple. `names`
// are those of bins (value_bins.h). Returns InvalidArgument, with the way out, if a value is no finite number, or if
// rule.multiple rows of it exceed the budget.
absl::StatusOr<std::vector<uint64_t>> BatchLimits(std::span<const std::string_view> names, const BatchRule& rule,
                                                  uint64_t most);

// Returns the bucket of a value among rule.bounds.
size_t BucketOf(double value, std::span<const double> bounds);

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_BATCH_LIMITS_H_
