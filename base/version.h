// The release of this program, and its compatibility with other processes.
#ifndef PENSTOCK_BASE_VERSION_H_
#define PENSTOCK_BASE_VERSION_H_

#include <string_view>

#include "absl/status/status.h"

namespace penstock {

// Returns the version: "0.2.0".
std::string_view Version();

// Returns OK if `who` ("worker w1"), of release `theirs`, supports the control protocol of `here` ("the coordinator"),
// which is of release Version(): the first two numbers must be equal. `theirs` is "" for clients up to 0.1.0, which do
// not send it. Otherwise returns FailedPrecondition that names both releases and the remedy.
absl::Status CheckRelease(std::string_view who, std::string_view theirs, std::string_view here);

}  // namespace penstock

#endif  // PENSTOCK_BASE_VERSION_H_
