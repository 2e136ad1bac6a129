#include "pipeline/augment/ops/tensor/tensor_input.h"

#include <cstring>

#include "base/status_macros.h"

namespace penstock::augment {

void CheckDenseInput(const OpSetup& setup) {
  if (setup.input.IsImage()) return;
  if (setup.input.dtype == batch::DType::kString || setup.input.ragged || !setup.input.HasFixedSize()) {
    setup.WrongInput("an image, or numbers of a fixed shape");
  }
}

batch::DType ChooseNumericType(const OpSetup& setup, v1::DataType to, v1::DataType otherwise) {
  const v1::DataType type = to == v1::DATA_TYPE_UNSPECIFIED ? otherwise : to;
  if (!batch::IsDType(type) || type == v1::STRING) {
    setup.Error("to", "must name a numeric type, such as FLOAT32");
    return batch::DType::kFloat32;
  }
  return static_cast<batch::DType>(type);
}

batch::DType ChooseFloatType(const OpSetup& setup, v1::DataType to) {
  switch (to) {
    case v1::DATA_TYPE_UNSPECIFIED:
    case v1::FLOAT32:
      return batch::DType::kFloat32;
    case v1::FLOAT16:
      return batch::DType::kFloat16;
    case v1::BFLOAT16:
      return batch::DType::kBfloat16;
    default:
      setup.Error("to", "must be FLOAT32, FLOAT16 or BFLOAT16");
      return batch::DType::kFloat32;
  }
}

absl::StatusOr<DenseTensor> DenseInput(const ValueType& input, OpContext* context, Value* value) {
  if (!input.IsImage()) {
    size_t count = 1;
    for (const int64_t extent : input.shape) count *= static_cast<size_t>(extent);
    return DenseTensor{value->data, count};
  }
  LazyImage& image = value->image;
  PS_RETURN_IF_ERROR(context->Realize(&image));
  const image::ImageView& view = image.view();
  const size_t row = view.row_bytes(), height = static_cast<size_t>(view.height);
  DenseTensor tensor{view.data, row * height, view.width, view.height};
  if (view.stride != row) {
    if (context->dry()) {
      *context->dry_bytes += row * height + Arena::kSlack;
      return tensor;
    }
    uint8_t* dense = context->tools->arena.Acquire(row * height);
    for (int y = 0; y < view.height; ++y) {
      std::memcpy(dense + static_cast<size_t>(y) * row, view.row(y), row);
    }
    tensor.data = dense;
  }
  return tensor;
}

}  // namespace penstock::augment
