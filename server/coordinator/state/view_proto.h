// A view as the wire has it.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_VIEW_PROTO_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_VIEW_PROTO_H_

#include "absl/status/statusor.h"
#include "penstock/v1/control.pb.h"
#include "pipeline/plan/epoch_plan.h"
#include "pipeline/plan/steps.h"
#include "pipeline/plan/view.h"

namespace penstock {

v1::View ToProto(const View& view);
// The reverse, with View::Validate's errors.
absl::StatusOr<View> FromProto(const v1::View& view);

// The defaults of job.proto applied; InvalidArgument names the field that is out of its limits.
absl::StatusOr<PlanOptions> PlanOptionsOfJob(const v1::JobSpec& spec);
LastBatch LastBatchOfJob(const v1::JobSpec& spec);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_VIEW_PROTO_H_
