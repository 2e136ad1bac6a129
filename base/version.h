// Which release this is, and whether another process is of it.
#ifndef PENSTOCK_BASE_VERSION_H_
#define PENSTOCK_BASE_VERSION_H_

#include <string_view>

#include "absl/status/status.h"

namespace penstock {

// "0.2.0"
std::string_view Version();

// Whether `who` ("worker w1"), of release `theirs` ("": does not say, as clients up to 0.1.0), speaks the control
// protocol of `here` ("the coordinator"), which is of Version(): the first two numbers are the same.
//   FailedPrecondition   they are not; names both releases and what to do
absl::Status CheckRelease(std::string_view who, std::string_view theirs, std::string_view here);

}  // namespace penstock

#endif  // PENSTOCK_BASE_VERSION_H_
