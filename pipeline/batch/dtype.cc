#include "pipeline/batch/dtype.h"

namespace penstock::batch {

size_t DTypeSize(DType dtype) {
  switch (dtype) {
    case DType::kUint8:
    case DType::kInt8:
    case DType::kBool:
      return 1;
    case DType::kUint16:
    case DType::kInt16:
    case DType::kFloat16:
    case DType::kBfloat16:
      return 2;
    case DType::kUint32:
    case DType::kInt32:
    case DType::kFloat32:
      return 4;
    case DType::kUint64:
    case DType::kInt64:
    case DType::kFloat64:
      return 8;
    case DType::kString:
      return 0;
  }
  return 0;
}

std::string_view DTypeName(DType dtype) {
  switch (dtype) {
    case DType::kUint8:
      return "uint8";
    case DType::kInt8:
      return "int8";
    case DType::kUint16:
      return "uint16";
    case DType::kInt16:
      return "int16";
    case DType::kUint32:
      return "uint32";
    case DType::kInt32:
      return "int32";
    case DType::kUint64:
      return "uint64";
    case DType::kInt64:
      return "int64";
    case DType::kFloat16:
      return "float16";
    case DType::kBfloat16:
      return "bfloat16";
    case DType::kFloat32:
      return "float32";
    case DType::kFloat64:
      return "float64";
    case DType::kBool:
      return "bool";
    case DType::kString:
      return "string";
  }
  return "?";
}

std::string_view DTypeNpyDescr(DType dtype) {
  switch (dtype) {
    case DType::kUint8:
      return "|u1";
    case DType::kInt8:
      return "|i1";
    case DType::kUint16:
      return "<u2";
    case DType::kInt16:
      return "<i2";
    case DType::kUint32:
      return "<u4";
    case DType::kInt32:
      return "<i4";
    case DType::kUint64:
      return "<u8";
    case DType::kInt64:
      return "<i8";
    case DType::kFloat16:
      return "<f2";
    case DType::kFloat32:
      return "<f4";
    case DType::kFloat64:
      return "<f8";
    case DType::kBool:
      return "|b1";
    case DType::kBfloat16:
    case DType::kString:
      return "";
  }
  return "";
}

bool IsDType(int value) {
  return value >= static_cast<int>(DType::kUint8) && value <= static_cast<int>(DType::kUint64);
}

}  // namespace penstock::batch
