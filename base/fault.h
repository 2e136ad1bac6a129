// What is wrong with a record, as a class: two words by which lists are read and counts are kept. It travels inside the
// status that says it in full.
#ifndef PENSTOCK_BASE_FAULT_H_
#define PENSTOCK_BASE_FAULT_H_

#include <string_view>

#include "absl/status/status.h"

namespace penstock {

enum class Fault {
  kOther,           // an op's, or of no class below
  kWrongCrc,        // of the record's data
  kNoExample,       // no tf.train.Example or SequenceExample, or a value in it is none
  kMissingFeature,  // and it has no default
  kWrongKind,       // BYTES where INT64 is asked for
  kWrongShape,      // another number of values than the job says
  kWrongBoxes,      // annotations that do not fit each other or the picture
  kNoImage,         // bytes of no kind that is read
  kTruncatedImage,
  kDamagedImage,
  kOverLimit,  // of the job's limits, or of a row's size
};

// "truncated image".
std::string_view FaultName(Fault fault);

// `status`, which is not OK, with its class. The first one stays: who is nearest to the fault knows it best.
absl::Status WithFault(Fault fault, absl::Status status);
// kOther where there is none.
Fault FaultOf(const absl::Status& status);

// `status` with "prefix: " before its message; its class stays.
absl::Status Prefixed(std::string_view prefix, const absl::Status& status);

}  // namespace penstock

#endif  // PENSTOCK_BASE_FAULT_H_
