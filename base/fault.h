// The class of a record's error, whose short name lists and counts show. The status that contains the full message
// carries the class.
#ifndef PENSTOCK_BASE_FAULT_H_
#define PENSTOCK_BASE_FAULT_H_

#include <string_view>

#include "absl/status/status.h"

namespace penstock {

enum class Fault {
  kOther,           // an error of an op, or in none of the classes below
  kWrongCrc,        // wrong checksum of the record's data
  kNoExample,       // not a tf.train.Example or SequenceExample, or an invalid value in it
  kMissingFeature,  // the record lacks a feature that has no default
  kWrongKind,       // for example BYTES instead of INT64
  kWrongShape,      // another number of values than the job specifies
  kWrongBoxes,      // annotations that do not fit each other or the image
  kNoImage,         // bytes of an unsupported format
  kTruncatedImage,
  kDamagedImage,
  kOverLimit,  // exceeds a limit of the job, or the maximum size of a row
  kNoFile,     // the record names a file that does not exist
};

// Returns the name: "truncated image".
std::string_view FaultName(Fault fault);

// Returns `status`, which must not be OK, with the class `fault`. Keeps an existing class, because the code that is
// closest to the error knows it best.
absl::Status WithFault(Fault fault, absl::Status status);
// Returns kOther if there is no class.
Fault FaultOf(const absl::Status& status);

// Returns `status` with "PREFIX: " before its message. Keeps its class and its marks (base/status_mark.h). Returns an
// OK status unchanged.
absl::Status Prefixed(std::string_view prefix, const absl::Status& status);

}  // namespace penstock

#endif  // PENSTOCK_BASE_FAULT_H_
