// five_crop and ten_crop, for evaluation: the upper left, upper right, lower left and lower right corners and the
// center. ten_crop adds those of the mirror image. Source: torchvision's five_crop and ten_crop. No draws. The result
// is a tensor, uint8 [5 or 10, height, width, channels], which cast and normalize accept.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/common/fields.h"
#include "pipeline/augment/ops/common/moves.h"

namespace penstock::augment {
namespace {

enum class Mirror : uint8_t { kNone, kLeftToRight, kTopToBottom };

// Writes `rect`, itself mirrored, as dense pixels to `out`.
void CopyMirrored(const image::ImageView& in, const image::Rect& rect, Mirror mirror, uint8_t* out) {
  const image::ImageView part = in.Crop(rect);
  const size_t row = part.row_bytes(), channels = static_cast<size_t>(part.channels);
  for (int y = 0; y < part.height; ++y, out += row) {
    const uint8_t* from = part.row(mirror == Mirror::kTopToBottom ? part.height - 1 - y : y);
    if (mirror != Mirror::kLeftToRight) {
      std::memcpy(out, from, row);
      continue;
    }
    for (size_t x = 0; x < row; x += channels) std::memcpy(out + x, from + row - channels - x, channels);
  }
}

class CropsOp final : public Op {
 public:
  // With mirror kNone, makes five crops, otherwise ten.
  CropsOp(int width, int height, Mirror mirror) : width_(width), height_(height), mirror_(mirror) {}

  bool MakesImage() const override { return false; }

  absl::Status Apply(OpContext* context, Value* value) const override {
    LazyImage& image = value->image;
    if (!context->dry() && (image.width() < width_ || image.height() < height_)) {
      return absl::InvalidArgumentError(absl::StrCat("the image is ", image.width(), " x ", image.height(),
                                                     ", smaller than the crops of ", width_, " x ", height_,
                                                     "; resize it first"));
    }
    PS_RETURN_IF_ERROR(context->Realize(&image));
    const size_t bytes =
        static_cast<size_t>(width_) * static_cast<size_t>(height_) * static_cast<size_t>(image.channels());
    uint8_t* out = context->Output((mirror_ == Mirror::kNone ? 5 : 10) * bytes);
    if (!context->dry()) {
      uint8_t* end = CopyFive(image.view(), Mirror::kNone, bytes, out);
      if (mirror_ != Mirror::kNone) CopyFive(image.view(), mirror_, bytes, end);
    }
    value->data = out;
    return absl::OkStatus();
  }

 private:
  uint8_t* CopyFive(const image::ImageView& in, Mirror mirror, size_t bytes, uint8_t* out) const {
    const int right = in.width - width_, bottom = in.height - height_;
    image::Rect rects[5] = {{0, 0, width_, height_},
                            {right, 0, width_, height_},
                            {0, bottom, width_, height_},
                            {right, bottom, width_, height_},
                            CenterRect(in.width, in.height, width_, height_)};
    for (image::Rect& rect : rects) {
      // A crop of the mirror image equals the mirrored crop at the mirrored position.
      if (mirror == Mirror::kLeftToRight) rect.x = right - rect.x;
      if (mirror == Mirror::kTopToBottom) rect.y = bottom - rect.y;
      CopyMirrored(in, rect, mirror, out);
      out += bytes;
    }
    return out;
  }

  const int width_, height_;
  const Mirror mirror_;
};

template <typename Spec>
std::unique_ptr<Op> Make(const OpSetup& setup, const Spec& spec, Mirror mirror, ValueType* output) {
  const size_t before = setup.errors->size();
  CheckImageInput(setup);
  CheckSide(setup, "height", spec.height());
  CheckSide(setup, "width", spec.width());
  if (setup.errors->size() != before) return nullptr;
  *output = {.dtype = batch::DType::kUint8,
             .shape = {mirror == Mirror::kNone ? 5 : 10, spec.height(), spec.width(), setup.input.shape[2]}};
  return std::make_unique<CropsOp>(static_cast<int>(spec.width()), static_cast<int>(spec.height()), mirror);
}

std::unique_ptr<Op> MakeFiveCrop(const OpSetup& setup, ValueType* output) {
  return Make(setup, setup.spec->five_crop(), Mirror::kNone, output);
}

std::unique_ptr<Op> MakeTenCrop(const OpSetup& setup, ValueType* output) {
  const v1::TenCrop& spec = setup.spec->ten_crop();
  return Make(setup, spec, spec.vertical_flip() ? Mirror::kTopToBottom : Mirror::kLeftToRight, output);
}

const OpRegistration kFiveCropRegistrations[] = {
    {"five_crop", MakeFiveCrop},
    {"ten_crop", MakeTenCrop},
};

}  // namespace
}  // namespace penstock::augment
