// Errors of ops, labeled with the op.
#ifndef PENSTOCK_PIPELINE_AUGMENT_VALUE_STEP_ERROR_H_
#define PENSTOCK_PIPELINE_AUGMENT_VALUE_STEP_ERROR_H_

#include <string_view>

#include "absl/status/status.h"

namespace penstock {

// Returns `status` with "LABEL: " before its message ("ops[1].resize (column 'image'): ..."), unless an op has already
// labeled it: an inner op, or decode_image, whose decoding may run in a later op.
absl::Status AtStep(std::string_view label, const absl::Status& status);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_VALUE_STEP_ERROR_H_
