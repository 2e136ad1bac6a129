// Converts a job file's order and batch to the types of the plan. Separate from the plan, which does not depend on
// protobuf.
#ifndef PENSTOCK_PIPELINE_PLAN_JOB_ORDER_H_
#define PENSTOCK_PIPELINE_PLAN_JOB_ORDER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/plan/data_order.h"
#include "pipeline/plan/epoch_plan.h"
#include "pipeline/plan/steps.h"

namespace penstock::plan {

// Converts with job.proto's defaults for unset fields. Does not validate; see CheckPlanOptions.
PlanOptions PlanOptionsOf(const v1::Order& order);
LastBatch LastBatchOf(v1::LastBatch last);
// Returns the sizes of the job's batches, or those of a reader that gave another size, which CheckBatchRows() of the
// order permits. `batches` are those of the order.
StepSizes StepSizesOf(const v1::Batch& batch, std::shared_ptr<const BatchSequence> batches, uint64_t given = 0);

// Returns whether the job's data sets have names, so that its plan has version 2.
bool HasNamedSets(const v1::JobSpec& job);

// Returns the names of the job's data sets; empty if they have none.
std::vector<std::string> SetNamesOf(const v1::JobSpec& job);

// Creates the order of a checked job (config/job_file.h) whose shards have `counts` records. `set_shards` has the
// number of shards of each data set if they have names; otherwise it is empty. `groups` are those of a data
// set whose records are grouped. Returns the errors of DataOrder::Create() and DataOrder::CreateGrouped(), and
// InvalidArgument if set_shards or groups do not fit the job.
absl::StatusOr<std::shared_ptr<const DataOrder>> DataOrderOf(const v1::JobSpec& job,
                                                             const std::vector<uint64_t>& counts,
                                                             std::span<const uint32_t> set_shards, RecordGroups groups);

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_JOB_ORDER_H_
