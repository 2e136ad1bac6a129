// How ops on elements see their input, image or tensor.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OPS_TENSOR_TENSOR_INPUT_H_
#define PENSTOCK_PIPELINE_AUGMENT_OPS_TENSOR_TENSOR_INPUT_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "pipeline/augment/op/op.h"

namespace penstock {

struct DenseTensor {
  const uint8_t* data = nullptr;  // dense; null in a dry run
  size_t count = 0;               // elements
  int width = 0, height = 0;      // of an image
};

// Adds an error unless the input is numbers of a fixed shape, or an image.
void CheckDenseInput(const OpSetup& setup);

// The elements of a value of type `input`; an image is realized, and made dense where it is a part of another.
absl::StatusOr<DenseTensor> DenseInput(const ValueType& input, OpContext* context, Value* value);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OPS_TENSOR_TENSOR_INPUT_H_
