#include "pipeline/plan/batch_limits.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/ordered_key.h"
#include "base/status_macros.h"
#include "pipeline/plan/value_bins.h"

namespace penstock::plan {
namespace {

// Returns the rows that the budget permits for a value, without the limits of the job.
double RowsOf(double value, const BatchRule& rule, uint64_t most) {
  const double cost = rule.is_quadratic ? value * value : value;
  return value <= 0 ? static_cast<double>(most) : std::min(rule.budget / cost, static_cast<double>(most));
}

}  // namespace

size_t BucketOf(double value, std::span<const double> bounds) {
  return static_cast<size_t>(std::upper_bound(bounds.begin(), bounds.end(), value) - bounds.begin());
}

absl::StatusOr<std::vector<uint64_t>> BatchLimits(std::span<const std::string_view> names, const BatchRule& rule,
                                                  uint64_t most) {
  if (!(rule.budget > 0) && rule.sizes.size() != rule.bounds.size() + 1) {
    return absl::InvalidArgumentError("select.bucket: neither a budget nor a size for each range of its bounds");
  }
  std::vector<uint64_t> limits;
  for (const std::string_view name : names) {
    const std::optional<double> greatest = GreatestOfBin(name);
    if (!greatest.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("select.bucket: the sizes of its batches need numbers, and `by` is '",
                       std::string(BinText(name)), "' for some records"));
    }
    const uint64_t rows = rule.budget > 0 ? static_cast<uint64_t>(RowsOf(*greatest, rule, most))
                                          : std::min(rule.sizes[BucketOf(*greatest, rule.bounds)], most);
    if (rows < rule.multiple) {
      return absl::InvalidArgumentError(absl::StrCat(
          "select.bucket: the budget of ", NumberText(rule.budget), " has no room for ", rule.multiple,
          rule.multiple == 1 ? " row" : " rows", " with the value ", NumberText(*greatest), " of `by`",
          rule.is_quadratic ? ", squared" : "", "; raise the budget",
          rule.multiple == 1 ? "" : ", lower bucket.multiple", ", or leave out such records with a filter"));
    }
    limits.push_back(rows / rule.multiple * rule.multiple);
  }
  return limits;
}

}  // namespace penstock::plan
