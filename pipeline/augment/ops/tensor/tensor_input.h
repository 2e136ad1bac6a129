// How ops on elements see their input, image or tensor, and say what type they leave.
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

// A `to` field. Adds an error unless it names a numeric type; `otherwise` where it says none.
DType ChooseNumericType(const OpSetup& setup, v1::DataType to, v1::DataType otherwise = v1::DATA_TYPE_UNSPECIFIED);
// Adds an error unless it is FLOAT32 (also where it says none), FLOAT16 or BFLOAT16.
DType ChooseFloatType(const OpSetup& setup, v1::DataType to);

// The elements of a value of type `input`; an image is realized, and made dense where it is a part of another.
absl::StatusOr<DenseTensor> DenseInput(const ValueType& input, OpContext* context, Value* value);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OPS_TENSOR_TENSOR_INPUT_H_
