// The place of an error, such as a file and record, at the start of its message.
#ifndef PENSTOCK_BASE_STATUS_PLACE_H_
#define PENSTOCK_BASE_STATUS_PLACE_H_

#include <string_view>

#include "absl/status/status.h"

namespace penstock {

// Returns `status`, which must not be OK, with "PLACE: " before its message. Keeps its class (base/fault.h) and its
// marks.
absl::Status AtPlace(std::string_view place, const absl::Status& status);

// Returns `status` as it was passed to the last AtPlace(), with its class and without its marks, for readers that show
// the place separately. Returns `status` itself if it has no place.
absl::Status WithoutPlace(const absl::Status& status);

}  // namespace penstock

#endif  // PENSTOCK_BASE_STATUS_PLACE_H_
