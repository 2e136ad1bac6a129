// Converts between a view and its protobuf message.
#ifndef PENSTOCK_NET_VIEW_PROTO_H_
#define PENSTOCK_NET_VIEW_PROTO_H_

#include "absl/status/statusor.h"
#include "penstock/v1/submitted_job.pb.h"
#include "pipeline/plan/view.h"

namespace penstock::net {

v1::View ToProto(const plan::View& view);
// Returns the view of a message. Returns the errors of View::Validate, and Unimplemented for a policy that this release
// does not know.
absl::StatusOr<plan::View> FromProto(const v1::View& view);

}  // namespace penstock::net

#endif  // PENSTOCK_NET_VIEW_PROTO_H_
