// The release of this program, and its compatibility with other processes.
#ifndef PENSTOCK_BASE_VERSION_H_
#define PENSTOCK_BASE_VERSION_H_

#include <string_view>

#include "absl/status/status.h"

namespace penstock {

// Returns the version: "0.2.0".
std::string_view Version();

// Checks that a peer supports the control protocol of this process: the first two numbers of `theirs`, the peer's
// release, and of Version() must be equal. Otherwise returns FailedPrecondition, which names both releases and the
// remedy. `who` ("worker w1") is the peer and `here` ("the coordinator") this process. `theirs` is "" for clients up to
// 0.1.0, which do not send it.
absl::Status CheckRelease(std::string_view who, std::string_view theirs, std::string_view here);

}  // namespace penstock

#endif  // PENSTOCK_BASE_VERSION_H_
