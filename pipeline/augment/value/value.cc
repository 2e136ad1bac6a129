#include "pipeline/augment/value/value.h"

#include "absl/strings/str_cat.h"

namespace penstock {

std::string ValueType::ToString() const {
  std::string text = ragged && !scalar ? "ragged " : "";
  absl::StrAppend(&text, std::string(DTypeName(dtype)));
  if (dtype == DType::kString || (shape.empty() && !ragged)) {
    return shape.empty() && dtype != DType::kString ? absl::StrCat(text, " scalar") : text;
  }
  absl::StrAppend(&text, " [");
  for (size_t i = 0; i < shape.size(); ++i) {
    absl::StrAppend(&text, i > 0 ? ", " : "", shape[i] == kAnySize ? "?" : absl::StrCat(shape[i]));
  }
  return absl::StrCat(text, "]");
}

}  // namespace penstock
