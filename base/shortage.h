// Errors of a process that is short of memory or descriptors. They are transient and independent of the data.
#ifndef PENSTOCK_BASE_SHORTAGE_H_
#define PENSTOCK_BASE_SHORTAGE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace penstock {

// Returns Unavailable, with the mark of a shortage.
absl::Status ShortageError(absl::string_view message);

// Returns true if `status` has the mark. A status that is made from the code and the message of another has no mark.
bool IsShortage(const absl::Status& status);

}  // namespace penstock

#endif  // PENSTOCK_BASE_SHORTAGE_H_
