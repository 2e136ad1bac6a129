#include "pipeline/augment/op/mask_fill.h"

#include <cstddef>

#include "absl/strings/str_cat.h"

namespace penstock {

std::vector<uint16_t> ReadMaskFill(const google::protobuf::RepeatedField<uint32_t>& field,
                                   const std::vector<DType>& masks, std::string* mistake) {
  const size_t count = static_cast<size_t>(field.size());
  if (count == 0) return {};
  if (masks.empty()) {
    *mistake = "is for masks, and annotations.masks names none";
    return {};
  }
  if (count > 1 && count != masks.size()) {
    *mistake = absl::StrCat("has ", count, " values; it needs one, or one for each of the ", masks.size(), " masks");
    return {};
  }
  std::vector<uint16_t> classes;
  for (size_t i = 0; i < masks.size(); ++i) {
    const uint32_t value = field[count == 1 ? 0 : static_cast<int>(i)];
    const uint32_t most = masks[i] == DType::kUint16 ? UINT16_MAX : UINT8_MAX;
    if (value > most) {
      *mistake = absl::StrCat("must be from 0 to ", most, " for a mask of ", std::string(DTypeName(masks[i])), ", not ",
                              value);
      return {};
    }
    classes.push_back(static_cast<uint16_t>(value));
  }
  return classes;
}

}  // namespace penstock
