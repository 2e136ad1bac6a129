// Elements of tensors as C++ values: the memory layout of each DType, and conversions between them.
#ifndef PENSTOCK_PIPELINE_AUGMENT_VALUE_ELEMENT_H_
#define PENSTOCK_PIPELINE_AUGMENT_VALUE_ELEMENT_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/half.h"
#include "pipeline/augment/value/own_op_names.h"
#include "pipeline/batch/dtype.h"

namespace penstock {

// Elements whose memory has the layout of an integer. A type of their own keeps them apart from integers.
struct HalfElement {
  uint16_t bits;
};
struct Bfloat16Element {
  uint16_t bits;
};
struct BoolElement {
  uint8_t byte;
};

// Reads an element at an address of any alignment.
template <typename T>
T LoadElement(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}
// Writes an element to an address of any alignment.
template <typename T>
void StoreElement(uint8_t* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

// Returns the value for arithmetic: a float for float16, bfloat16 and float32, 0 or 1 for bool, and otherwise the
// element itself.
template <typename T>
auto ElementValue(T element) {
  if constexpr (std::is_same_v<T, HalfElement>) {
    return HalfToFloat(element.bits);
  } else if constexpr (std::is_same_v<T, Bfloat16Element>) {
    return Bfloat16ToFloat(element.bits);
  } else if constexpr (std::is_same_v<T, BoolElement>) {
    return static_cast<uint8_t>(element.byte != 0);
  } else {
    return element;
  }
}

// Converts an element:
//   to an integer  truncates fractions, clamps values that are out of range, and maps NaN to 0
//   to a float     rounds to the nearest value, ties to even; the 16-bit types round to float32 first
//   to bool        true unless the value is 0
template <typename To, typename From>
To ConvertElement(From from) {
  const auto value = ElementValue(from);
  using Wide = std::remove_const_t<decltype(value)>;
  if constexpr (std::is_same_v<To, HalfElement>) {
    return {FloatToHalf(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<To, Bfloat16Element>) {
    return {FloatToBfloat16(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<To, BoolElement>) {
    return {static_cast<uint8_t>(value != Wide{0})};
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(value);
  } else if constexpr (std::is_floating_point_v<Wide>) {
    // max() + 1 is a power of two, which every float type represents exactly.
    const Wide bound = std::ldexp(Wide{1}, std::numeric_limits<To>::digits);
    if (value != value) return To{0};
    if (value >= bound) return std::numeric_limits<To>::max();
    if (value <= static_cast<Wide>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    return static_cast<To>(value);
  } else {
    if (std::cmp_greater(value, std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    if (std::cmp_less(value, std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    return static_cast<To>(value);
  }
}

// Returns visit(T{}) for the element type T of `dtype`, which must not be kString.
template <typename Visit>
auto VisitDType(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::kUint8:
      return visit(uint8_t{});
    case DType::kInt8:
      return visit(int8_t{});
    case DType::kUint16:
      return visit(uint16_t{});
    case DType::kInt16:
      return visit(int16_t{});
    case DType::kUint32:
      return visit(uint32_t{});
    case DType::kInt32:
      return visit(int32_t{});
    case DType::kUint64:
      return visit(uint64_t{});
    case DType::kInt64:
      return visit(int64_t{});
    case DType::kFloat16:
      return visit(HalfElement{});
    case DType::kBfloat16:
      return visit(Bfloat16Element{});
    case DType::kFloat32:
      return visit(float{});
    case DType::kFloat64:
      return visit(double{});
    case DType::kBool:
      return visit(BoolElement{});
    case DType::kString:
      break;
  }
  PS_CHECK(!"a numeric type");
  return visit(uint8_t{});
}

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_VALUE_ELEMENT_H_
