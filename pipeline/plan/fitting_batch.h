// The batch size that Penstock proposes for a data set, in new job files and in messages.
#ifndef PENSTOCK_PIPELINE_PLAN_FITTING_BATCH_H_
#define PENSTOCK_PIPELINE_PLAN_FITTING_BATCH_H_

#include <cstdint>

namespace penstock::plan {

// An epoch may drop one row in 20 without a warning.
constexpr uint64_t kDroppedWorthAWord = 20;
// FittingBatch returns 256 for this number of rows and for every larger one.
constexpr uint64_t kManyRecords = 256 * kDroppedWorthAWord;

// Returns the largest power of two, at most 256, for which an epoch of `rows` rows drops at most one row in 20. For 60
// rows it is 4, which gives 15 steps. Returns 1 for 0 rows.
uint32_t FittingBatch(uint64_t rows);

// Returns whether an epoch drops more than one row in 20.
bool IsMuchDropped(uint64_t dropped, uint64_t rows);

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_FITTING_BATCH_H_
