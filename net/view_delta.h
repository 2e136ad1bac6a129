// A view as its difference from the previous one. Most views differ from the previous one in a few ranges.
#ifndef PENSTOCK_NET_VIEW_DELTA_H_
#define PENSTOCK_NET_VIEW_DELTA_H_

#include "absl/status/statusor.h"
#include "penstock/v1/submitted_job.pb.h"

namespace penstock::net {

// Returns the delta from `before` to `after`, both valid: ApplyDelta(before, delta) equals `after`. Takes O(n log n)
// time in their sizes.
v1::ViewDelta DeltaBetween(const v1::View& before, const v1::View& after);

// Returns the view after `before`. The delta may be untrusted: the result is never larger than `before` and `delta`
// together. The caller must call View::Validate on the result.
//   FailedPrecondition   the delta begins at another view
//   InvalidArgument      the delta copies an element that `before` does not have, copies an element twice, or copies a
//                        range of a worker that it does not copy
absl::StatusOr<v1::View> ApplyDelta(const v1::View& before, const v1::ViewDelta& delta);

}  // namespace penstock::net

#endif  // PENSTOCK_NET_VIEW_DELTA_H_
