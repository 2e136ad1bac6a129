// A job file's order and batch in the plan's own terms. Apart from the plan itself, which knows no protobuf.
#ifndef PENSTOCK_PIPELINE_PLAN_JOB_ORDER_H_
#define PENSTOCK_PIPELINE_PLAN_JOB_ORDER_H_

#include "penstock/v1/job.pb.h"
#include "pipeline/plan/epoch_plan.h"
#include "pipeline/plan/steps.h"

namespace penstock {

// With job.proto's defaults for what is not set. Not checked: see CheckPlanOptions.
PlanOptions PlanOptionsOf(const v1::Order& order);
LastBatch LastBatchOf(v1::LastBatch last);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_PLAN_JOB_ORDER_H_
