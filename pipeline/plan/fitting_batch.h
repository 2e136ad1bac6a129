// The default batch size for jobs that set none.
#ifndef PENSTOCK_PIPELINE_PLAN_FITTING_BATCH_H_
#define PENSTOCK_PIPELINE_PLAN_FITTING_BATCH_H_

#include <cstdint>

namespace penstock::plan {

// An epoch may drop one row in this number without a warning.
constexpr uint64_t kDroppedWorthAWord = 20;
// From this number of records on, FittingBatch does not depend on the number.
constexpr uint64_t kManyRecords = 256 * kDroppedWorthAWord;

// Returns 256. For an epoch of few rows, returns the largest smaller power of two that leaves at most one row in 20
// over: 60 rows are 15 steps of 4.
uint32_t FittingBatch(uint64_t rows);

// Returns whether an epoch drops more than one row in 20.
bool IsMuchDropped(uint64_t dropped, uint64_t rows);

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_FITTING_BATCH_H_
