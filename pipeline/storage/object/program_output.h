// What a program says that is run for its answer alone: a source of keys.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_PROGRAM_OUTPUT_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_PROGRAM_OUTPUT_H_

#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "base/runtime/clock.h"

namespace penstock {

// Runs a line of the shell and returns what it printed, at most 64 KiB. Blocks until it has ended: for `limit` at most,
// and not beyond a stop; then it and what it started are killed. What it prints is secret: no message holds any of it,
// and what it says on stderr goes nowhere.
//   Unavailable        it did not end in time, or could not be started
//   PermissionDenied   it failed, or printed too much
//   Cancelled          a stop
absl::StatusOr<std::string> OutputOf(const std::string& command, Nanos limit, const std::stop_token& stop);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_PROGRAM_OUTPUT_H_
