// The memory that the values of one record may take.
#ifndef PENSTOCK_PIPELINE_RECORDS_VALUE_BUDGET_H_
#define PENSTOCK_PIPELINE_RECORDS_VALUE_BUDGET_H_

#include <cstdint>

#include "absl/status/status.h"
#include "pipeline/records/example_parser.h"
#include "pipeline/records/request_check.h"

namespace penstock::records {

// Not thread-safe.
class ValueBudget {
 public:
  explicit ValueBudget(uint64_t limit) : limit_(limit), left_(limit) {}

  uint64_t limit() const { return limit_; }
  uint64_t* left() { return &left_; }
  // Subtracts the memory of `count` values. Returns OverValueLimit() if less is left.
  absl::Status Spend(const FeatureRequest& request, uint64_t count, uint64_t bytes_each) {
    if (bytes_each != 0 && count > left_ / bytes_each) return OverValueLimit(request, limit_);
    left_ -= count * bytes_each;
    return absl::OkStatus();
  }

 private:
  const uint64_t limit_;
  uint64_t left_;
};

}  // namespace penstock::records

#endif  // PENSTOCK_PIPELINE_RECORDS_VALUE_BUDGET_H_
