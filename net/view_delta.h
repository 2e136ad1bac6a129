// A view as what changed since the one before: most views differ from the last in a few ranges.
#ifndef PENSTOCK_NET_VIEW_DELTA_H_
#define PENSTOCK_NET_VIEW_DELTA_H_

#include "absl/status/statusor.h"
#include "penstock/v1/submitted_job.pb.h"

namespace penstock {

// What leads from `before` to `after`, both valid: ApplyDelta(before, it) is `after`. O(n log n) of their sizes.
v1::ViewDelta DeltaBetween(const v1::View& before, const v1::View& after);

// The view after `before`. The delta may come from anywhere: the result is never larger than `before` and `delta`
// together, and View::Validate is for the caller to ask.
//   FailedPrecondition   it begins at another view
//   InvalidArgument      it copies what `before` has not, or copies a thing twice
absl::StatusOr<v1::View> ApplyDelta(const v1::View& before, const v1::ViewDelta& delta);

}  // namespace penstock

#endif  // PENSTOCK_NET_VIEW_DELTA_H_
