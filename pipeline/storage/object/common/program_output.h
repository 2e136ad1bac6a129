// Output of a program that is run for its output, such as a source of keys.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_PROGRAM_OUTPUT_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_PROGRAM_OUTPUT_H_

#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "base/runtime/clock.h"

namespace penstock::storage {

// Runs a line of the shell and returns its output, at most 64 KiB. Blocks until the program ends and closes its output.
// Kills the process group of the program after `limit`, or if a stop is requested or the output is too long. The output
// is secret: no message includes any of it. Discards stderr.
//   Unavailable        the program did not end in time, or could not be started
//   PermissionDenied   it failed, or printed too much
//   Cancelled          a stop was requested
absl::StatusOr<std::string> OutputOf(const std::string& command, Nanos limit, const std::stop_token& stop);

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_PROGRAM_OUTPUT_H_
