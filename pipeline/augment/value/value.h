// The content of a column between two ops: its type, known when the pipeline is built, and its value in one row.
#ifndef PENSTOCK_PIPELINE_AUGMENT_VALUE_VALUE_H_
#define PENSTOCK_PIPELINE_AUGMENT_VALUE_VALUE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/augment/value/lazy_image.h"
#include "pipeline/augment/value/own_op_names.h"
#include "pipeline/batch/row.h"

namespace penstock {

// A side of an image that varies between records.
constexpr int64_t kAnySize = -1;

struct ValueType {
  DType dtype = DType::kUint8;
  bool ragged = false;
  bool scalar = false;         // kString only: exactly one string
  std::vector<int64_t> shape;  // kAnySize where it varies between records

  bool IsEncoded() const { return dtype == DType::kString && scalar; }
  // Returns whether it is uint8, height x width x channels, with 1 or 3 channels.
  bool IsImage() const {
    return dtype == DType::kUint8 && !ragged && shape.size() == 3 && (shape[2] == 1 || shape[2] == 3);
  }
  bool HasFixedSize() const {
    for (const int64_t extent : shape) {
      if (extent == kAnySize) return false;
    }
    return true;
  }
  // Returns "uint8 [?, ?, 3]", "string", "ragged int64 [2]" and the like.
  std::string ToString() const;
};

// The column's type determines the member to use: the string (IsEncoded), an image whose pixels may be deferred
// (IsImage), or a tensor. The others are unspecified.
struct Value {
  std::string_view bytes;  // the string, in the record or the feature's default
  LazyImage image;
  const uint8_t* data = nullptr;  // the tensor: dense, little-endian, any alignment
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_VALUE_VALUE_H_
