// The input of ops on elements, which is an image or a tensor, and the types of their outputs.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OPS_TENSOR_TENSOR_INPUT_H_
#define PENSTOCK_PIPELINE_AUGMENT_OPS_TENSOR_TENSOR_INPUT_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "pipeline/augment/op/op.h"

namespace penstock::augment {

struct DenseTensor {
  const uint8_t* data = nullptr;  // dense; null in a dry run
  size_t count = 0;               // elements
  int width = 0, height = 0;      // the image's sides; 0 for other tensors
};

// Adds an error unless the input is numbers of a fixed shape, or an image.
void CheckDenseInput(const OpSetup& setup);

// Returns the type of a `to` field, or `otherwise` if it is not set. Adds an error unless it is a numeric type.
batch::DType ChooseNumericType(const OpSetup& setup, v1::DataType to,
                               v1::DataType otherwise = v1::DATA_TYPE_UNSPECIFIED);
// Returns the type of a `to` field. Adds an error unless it is FLOAT32 (the default), FLOAT16 or BFLOAT16.
batch::DType ChooseFloatType(const OpSetup& setup, v1::DataType to);

// Returns the elements of a value of type `input`. Realizes an image, and copies it densely if it is part of another.
absl::StatusOr<DenseTensor> DenseInput(const ValueType& input, OpContext* context, Value* value);

}  // namespace penstock::augment

#endif  // PENSTOCK_PIPELINE_AUGMENT_OPS_TENSOR_TENSOR_INPUT_H_
