// Element types of columns, and the C++ types that read them.
#ifndef PENSTOCK_ELEMENT_TYPE_H_
#define PENSTOCK_ELEMENT_TYPE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace penstock {

// Element types. The numbers equal those of the job file's DataType.
enum class ElementType : uint8_t {
  kUint8 = 1,
  kInt8 = 2,
  kUint16 = 3,
  kInt16 = 4,
  kInt32 = 5,
  kInt64 = 6,
  kFloat16 = 7,
  kBfloat16 = 8,
  kFloat32 = 9,
  kFloat64 = 10,
  kBool = 11,
  kString = 12,
  kUint32 = 13,
  kUint64 = 14,
};

// Returns "uint8", "float32", "string" ...: NumPy's names, if NumPy has the type.
std::string_view ElementTypeName(ElementType type);

// Returns true if T reads elements of `type` without a conversion. T must have the same width and kind: int64_t (or
// long) for kInt64, float for kFloat32. In addition:
//   kFloat16, kBfloat16   uint16_t, for the bits; any other type of two bytes that is not an integer, such as the
//                         caller's own half type
//   kBool                 bool, or uint8_t
//   kUint8                also std::byte
// No type reads kString.
template <typename T>
constexpr bool ReadsAs(ElementType type) {
  using Type = ElementType;
  const bool half = type == Type::kFloat16 || type == Type::kBfloat16;
  if constexpr (std::is_same_v<T, bool>) {
    return type == Type::kBool;
  } else if constexpr (std::is_same_v<T, std::byte>) {
    return type == Type::kUint8;
  } else if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T>) {
    if (sizeof(T) == 1) return type == Type::kUint8 || type == Type::kBool;
    return (sizeof(T) == 2 && (type == Type::kUint16 || half)) || (sizeof(T) == 4 && type == Type::kUint32) ||
           (sizeof(T) == 8 && type == Type::kUint64);
  } else if constexpr (std::is_integral_v<T>) {
    return (sizeof(T) == 1 && type == Type::kInt8) || (sizeof(T) == 2 && type == Type::kInt16) ||
           (sizeof(T) == 4 && type == Type::kInt32) || (sizeof(T) == 8 && type == Type::kInt64);
  } else {
    static_assert(std::is_trivially_copyable_v<T>, "rows are bytes");
    if (std::is_floating_point_v<T> && sizeof(T) > 2) {
      return (sizeof(T) == 4 && type == Type::kFloat32) || (sizeof(T) == 8 && type == Type::kFloat64);
    }
    return sizeof(T) == 2 && half;
  }
}

// Returns T as the compiler writes it: "float", "long int".
template <typename T>
std::string_view TypeNameOf() {
#if defined(__GNUC__)
  // "... TypeNameOf() [with T = float; ...]", or "[T = float]".
  std::string_view name = __PRETTY_FUNCTION__;
  name.remove_prefix(name.find("T = ") + 4);
  return name.substr(0, name.find_first_of(";]"));
#else
  return "T";
#endif
}

}  // namespace penstock

#endif  // PENSTOCK_ELEMENT_TYPE_H_
