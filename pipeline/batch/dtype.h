// Element types of tensors.
#ifndef PENSTOCK_PIPELINE_BATCH_DTYPE_H_
#define PENSTOCK_PIPELINE_BATCH_DTYPE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace penstock::batch {

// The numbers are those of penstock.v1.DataType and part of the wire format. Never change one.
enum class DType : uint8_t {
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
  kString = 12,  // a byte string of any length
  kUint32 = 13,
  kUint64 = 14,
};

// Returns the bytes of one element, or 0 for kString.
size_t DTypeSize(DType dtype);

// Returns "uint8", "float32", "string" and so on.
std::string_view DTypeName(DType dtype);

// Returns the name in .npy files, such as "<f4", or "" for types that NumPy lacks: bfloat16 and strings.
std::string_view DTypeNpyDescr(DType dtype);

// Returns whether `value` is one of the enumerators. Call it before a cast of untrusted bytes.
bool IsDType(int value);

}  // namespace penstock::batch

#endif  // PENSTOCK_PIPELINE_BATCH_DTYPE_H_
