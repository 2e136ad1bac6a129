// The steps of dataset.select that count records: take, skip, range and every. They apply to the records that the other
// steps keep, through all shards in the order of the snapshot, so they follow the other steps.
#ifndef PENSTOCK_PIPELINE_PLAN_JOB_SLICES_H_
#define PENSTOCK_PIPELINE_PLAN_JOB_SLICES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "penstock/v1/job.pb.h"

namespace penstock::plan {

// The records first, first + stride, ..., `count` of them.
struct RecordRun {
  uint64_t first = 0;
  uint64_t stride = 1;  // at least 1
  uint64_t count = 0;

  bool operator==(const RecordRun&) const = default;
};

// Returns whether a step counts records.
bool CountsRecords(const v1::Select& step);
// Returns whether a step of the data set does.
bool CountsRecords(const v1::Dataset& dataset);

// Returns the part of `run` that a step which counts records keeps. Accepts any numbers.
RecordRun AfterStep(const v1::Select& step, const RecordRun& run);

// Returns the run that the data set's counting steps keep of each shard, counted from its first record. `counts` has
// the shards' numbers of records.
std::vector<RecordRun> KeptRuns(const v1::Dataset& dataset, std::span<const uint64_t> counts);

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_JOB_SLICES_H_
