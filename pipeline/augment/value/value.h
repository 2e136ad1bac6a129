// What a column holds between two ops: its type, known when the pipeline is built, and its value in one row.
#ifndef PENSTOCK_PIPELINE_AUGMENT_VALUE_VALUE_H_
#define PENSTOCK_PIPELINE_AUGMENT_VALUE_VALUE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/augment/value/lazy_image.h"
#include "pipeline/batch/row.h"

namespace penstock {

// A side of an image whose size differs from record to record.
constexpr int64_t kAnySize = -1;

struct ValueType {
  DType dtype = DType::kUint8;
  bool ragged = false;
  bool scalar = false;         // kString only: exactly one string
  std::vector<int64_t> shape;  // kAnySize where a record decides

  bool IsEncoded() const { return dtype == DType::kString && scalar; }
  // uint8, height x width x channels, 1 or 3 of them.
  bool IsImage() const {
    return dtype == DType::kUint8 && !ragged && shape.size() == 3 && (shape[2] == 1 || shape[2] == 3);
  }
  bool HasFixedSize() const {
    for (const int64_t extent : shape) {
      if (extent == kAnySize) return false;
    }
    return true;
  }
  // "uint8 [?, ?, 3]", "string", "ragged int64 [2]".
  std::string ToString() const;
};

// Exactly one of: a string (IsEncoded), an image whose pixels may not be there yet (IsImage), a tensor.
struct Value {
  std::string_view bytes;  // the string, in the record
  LazyImage image;
  const uint8_t* data = nullptr;  // the tensor: dense, little-endian, at any alignment
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_VALUE_VALUE_H_
