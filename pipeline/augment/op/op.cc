#include "pipeline/augment/op/op.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace penstock {

uint8_t* OpContext::Output(size_t bytes) {
  if (dry()) {
    *dry_bytes += bytes + Arena::kSlack;
    return nullptr;
  }
  return target != nullptr ? target : tools->arena.Acquire(bytes);
}

absl::Status OpContext::Realize(LazyImage* image) {
  if (dry()) {
    image->PretendRealized(dry_bytes);
    return absl::OkStatus();
  }
  return image->Realize(tools, damaged);
}

void OpContext::Moved(const ImageMove& move) {
  if (followers == nullptr) return;
  if (dry()) {
    *dry_bytes += followers->ApplyBytes(move);
  } else {
    followers->Apply(move, &tools->arena);
  }
}

void OpSetup::Error(std::string_view field, std::string_view message) const {
  errors->push_back(absl::StrCat(path, field.empty() ? "" : ".", std::string(field), ": ", std::string(message)));
}

void OpSetup::WrongInputNoImage() const {
  // A decoded image that an earlier op has converted to numbers.
  const bool numbers = input.dtype != DType::kUint8 && input.shape.size() == 3;
  WrongInput(numbers ? "a uint8 image; put it before what makes numbers of the image (normalize, cast)"
                     : "a uint8 image; put decode_image before it");
}

void OpSetup::WrongInput(std::string_view wanted) const {
  Error("",
        absl::StrCat("works on ", std::string(wanted), ", but column '", column, "' is ", input.ToString(), " here"));
}

std::string OpName(const v1::Op& op) {
  const auto* oneof = v1::Op::descriptor()->FindOneofByName("op");
  const auto* field = op.GetReflection()->GetOneofFieldDescriptor(op, oneof);
  return field == nullptr ? std::string() : std::string(field->name());
}

}  // namespace penstock
