// Helpers for the tests of the plan.
#ifndef PENSTOCK_TESTS_PIPELINE_PLAN_PLAN_TESTING_H_
#define PENSTOCK_TESTS_PIPELINE_PLAN_PLAN_TESTING_H_

#include <cstdint>
#include <vector>

#include "pipeline/plan/epoch_plan.h"

namespace penstock::plan {

inline EpochPlan MakePlan(const std::vector<uint64_t>& counts, const PlanOptions& options, uint64_t epoch) {
  return EpochPlan::Create(ShardOffsets::Create(counts).value(), options, epoch).value();
}

inline std::vector<PlanOptions> AllShuffles() {
  return {{.seed = 3, .chunk_records = 4, .window_chunks = 3},
          {.seed = 3, .shuffle = Shuffle::kFull},
          {.seed = 3, .shuffle = Shuffle::kNone}};
}

}  // namespace penstock::plan

#endif  // PENSTOCK_TESTS_PIPELINE_PLAN_PLAN_TESTING_H_
