// Converts a job file's order and batch to the types of the plan. Separate from the plan, which does not depend on
// protobuf.
#ifndef PENSTOCK_PIPELINE_PLAN_JOB_ORDER_H_
#define PENSTOCK_PIPELINE_PLAN_JOB_ORDER_H_

#include "penstock/v1/job.pb.h"
#include "pipeline/plan/epoch_plan.h"
#include "pipeline/plan/steps.h"

namespace penstock::plan {

// Converts with job.proto's defaults for unset fields. Does not validate; see CheckPlanOptions.
PlanOptions PlanOptionsOf(const v1::Order& order);
LastBatch LastBatchOf(v1::LastBatch last);

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_JOB_ORDER_H_
