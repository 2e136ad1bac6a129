#include "pipeline/batch/mix_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/half.h"

namespace penstock::batch {
namespace {

template <typename T>
T Load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T>
void Store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

void BlendBytes(size_t count, double lambda, std::byte* __restrict a_bytes, std::byte* __restrict b_bytes) {
  auto* __restrict a = reinterpret_cast<uint8_t*>(a_bytes);
  auto* __restrict b = reinterpret_cast<uint8_t*>(b_bytes);
  const auto w = static_cast<uint16_t>(lambda * 32768.0 + 0.5);
  const auto v = static_cast<uint16_t>(32768 - w);
  for (size_t i = 0; i < count; ++i) {
    const uint16_t x = a[i], y = b[i];
    a[i] = static_cast<uint8_t>((uint32_t{x} * w + uint32_t{y} * v + 16384) >> 15);
    b[i] = static_cast<uint8_t>((uint32_t{y} * w + uint32_t{x} * v + 16384) >> 15);
  }
}

template <typename T, float (*ToFloat)(T), T (*FromFloat)(float)>
void BlendFloats(size_t count, double lambda, std::byte* __restrict a, std::byte* __restrict b) {
  const auto l = static_cast<float>(lambda);
  const float m = 1.0f - l;
  for (size_t i = 0; i < count; ++i) {
    const float x = ToFloat(Load<T>(a + i * sizeof(T))), y = ToFloat(Load<T>(b + i * sizeof(T)));
    Store(a + i * sizeof(T), FromFloat(x * l + y * m));
    Store(b + i * sizeof(T), FromFloat(y * l + x * m));
  }
}

float Same(float value) { return value; }

}  // namespace

bool CanBlend(DType dtype) {
  return dtype == DType::kUint8 || dtype == DType::kFloat16 || dtype == DType::kBfloat16 || dtype == DType::kFloat32;
}

void Blend(DType dtype, size_t count, double lambda, std::byte* a, std::byte* b) {
  if (dtype == DType::kUint8) {
    BlendBytes(count, lambda, a, b);
  } else if (dtype == DType::kFloat32) {
    BlendFloats<float, Same, Same>(count, lambda, a, b);
  } else if (dtype == DType::kFloat16) {
    BlendFloats<uint16_t, HalfToFloat, FloatToHalf>(count, lambda, a, b);
  } else {
    PS_CHECK(dtype == DType::kBfloat16);
    BlendFloats<uint16_t, Bfloat16ToFloat, FloatToBfloat16>(count, lambda, a, b);
  }
}

void SwapBox(const PixelLayout& layout, const MixBox& box, std::byte* a, std::byte* b) {
  const auto row = static_cast<size_t>(layout.width) * layout.pixel_bytes;
  const auto begin = static_cast<size_t>(box.x0) * layout.pixel_bytes;
  const auto bytes = static_cast<size_t>(box.x1 - box.x0) * layout.pixel_bytes;
  if (box.area() == 0) return;
  for (int64_t plane = 0; plane < layout.planes; ++plane) {
    for (int64_t y = box.y0; y < box.y1; ++y) {
      const size_t at = static_cast<size_t>(plane * layout.height + y) * row + begin;
      std::swap_ranges(a + at, a + at + bytes, b + at);
    }
  }
}

void WriteSoftLabel(int64_t label, size_t classes, float smoothing, std::byte* out) {
  const bool known = label >= 0 && static_cast<uint64_t>(label) < classes;
  const float off = smoothing / static_cast<float>(classes);
  for (size_t k = 0; k < classes; ++k) Store(out + k * sizeof(float), known ? off : 0.0f);
  if (known) Store(out + static_cast<size_t>(label) * sizeof(float), 1.0f - smoothing + off);
}

bool IsInteger(DType dtype) {
  switch (dtype) {
    case DType::kUint8:
    case DType::kInt8:
    case DType::kUint16:
    case DType::kInt16:
    case DType::kUint32:
    case DType::kInt32:
    case DType::kUint64:
    case DType::kInt64:
      return true;
    default:
      return false;
  }
}

int64_t LoadInteger(DType dtype, const std::byte* from) {
  switch (dtype) {
    case DType::kUint8:
      return Load<uint8_t>(from);
    case DType::kInt8:
      return Load<int8_t>(from);
    case DType::kUint16:
      return Load<uint16_t>(from);
    case DType::kInt16:
      return Load<int16_t>(from);
    case DType::kUint32:
      return Load<uint32_t>(from);
    case DType::kInt32:
      return Load<int32_t>(from);
    case DType::kUint64:
      return Load<uint64_t>(from) > INT64_MAX ? -1 : static_cast<int64_t>(Load<uint64_t>(from));
    default:
      PS_CHECK(dtype == DType::kInt64);
      return Load<int64_t>(from);
  }
}

void MixGroup(const MixTensors& tensors, const MixDraw& draw, std::span<std::byte* const> images,
              std::span<std::byte* const> labels) {
  PS_CHECK(images.size() == labels.size());
  if (draw.kind == MixDraw::Kind::kNone || draw.lambda >= 1) return;
  for (size_t i = 0, j = images.size() - 1; i < j; ++i, --j) {
    if (draw.kind == MixDraw::Kind::kMixup) {
      Blend(tensors.image, tensors.image_elements, draw.lambda, images[i], images[j]);
    } else {
      SwapBox(tensors.pixels, draw.box, images[i], images[j]);
    }
    Blend(tensors.label, tensors.classes, draw.lambda, labels[i], labels[j]);
  }
}

}  // namespace penstock::batch
