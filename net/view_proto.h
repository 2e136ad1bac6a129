// A view as the wire has it.
#ifndef PENSTOCK_NET_VIEW_PROTO_H_
#define PENSTOCK_NET_VIEW_PROTO_H_

#include "absl/status/statusor.h"
#include "penstock/v1/submitted_job.pb.h"
#include "pipeline/plan/view.h"

namespace penstock {

v1::View ToProto(const View& view);
// The reverse, with View::Validate's errors.
absl::StatusOr<View> FromProto(const v1::View& view);

}  // namespace penstock

#endif  // PENSTOCK_NET_VIEW_PROTO_H_
