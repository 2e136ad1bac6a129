// The batch size that is proposed to those who have not said one.
#ifndef PENSTOCK_PIPELINE_PLAN_FITTING_BATCH_H_
#define PENSTOCK_PIPELINE_PLAN_FITTING_BATCH_H_

#include <cstdint>

namespace penstock {

// What of an epoch may be dropped without being worth a warning: one row in 20.
constexpr uint64_t kDroppedWorthAWord = 20;
// From so many records on FittingBatch does not depend on how many there are.
constexpr uint64_t kManyRecords = 256 * kDroppedWorthAWord;

// 256, or, for an epoch of few rows, the largest power of two below it that leaves at most one row in 20 over: 60 rows
// are 15 steps of 4.
uint32_t FittingBatch(uint64_t rows);

// Whether so many dropped rows of an epoch are more than that.
bool IsMuchDropped(uint64_t dropped, uint64_t rows);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_PLAN_FITTING_BATCH_H_
