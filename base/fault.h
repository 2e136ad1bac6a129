// The class of a record's error: two words for lists and counts. It is part of the status that contains the full
// message.
#ifndef PENSTOCK_BASE_FAULT_H_
#define PENSTOCK_BASE_FAULT_H_

#include <string_view>

#include "absl/status/status.h"

namespace penstock {

enum class Fault {
  kOther,           // an error of an op, or of none of the classes below
  kWrongCrc,        // wrong checksum of the record's data
  kNoExample,       // not a tf.train.Example or SequenceExample, or an invalid value in it
  kMissingFeature,  // without a default
  kWrongKind,       // for example BYTES instead of INT64
  kWrongShape,      // another number of values than the job specifies
  kWrongBoxes,      // annotations that do not fit each other or the image
  kNoImage,         // bytes of an unsupported format
  kTruncatedImage,
  kDamagedImage,
  kOverLimit,  // over the job's limits, or over a row's size
};

// Returns the name: "truncated image".
std::string_view FaultName(Fault fault);

// Returns `status`, which must not be OK, with its class. Keeps an existing class, because the code that is closest to
// the error knows it best.
absl::Status WithFault(Fault fault, absl::Status status);
// Returns kOther if there is no class.
Fault FaultOf(const absl::Status& status);

// Returns `status` with "prefix: " before its message. Keeps its class and its marks (base/status_mark.h).
absl::Status Prefixed(std::string_view prefix, const absl::Status& status);

}  // namespace penstock

#endif  // PENSTOCK_BASE_FAULT_H_
