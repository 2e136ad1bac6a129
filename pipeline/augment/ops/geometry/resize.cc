// resize: resizes to an exact size, or to one side with the aspect kept.
//
// The other side is side * other / this one, rounded down, as in torchvision.transforms.Resize, and at least 1.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/common/fields.h"
#include "pipeline/augment/ops/common/moves.h"

namespace penstock::augment {
namespace {

class ResizeOp final : public Op {
 public:
  ResizeOp(const v1::Resize& spec, const ResizeChoice& choice, const image::ImageLimits& limits)
      : height_(static_cast<int>(spec.height())),
        width_(static_cast<int>(spec.width())),
        shorter_(spec.shorter_side()),
        longer_(spec.longer_side()),
        choice_(choice),
        limits_(limits) {}

  absl::Status Apply(OpContext* context, Value* value) const override {
    LazyImage& image = value->image;
    int64_t width = width_, height = height_;
    if (shorter_ > 0 || longer_ > 0) {
      const bool wide = image.width() > image.height();
      const int64_t shorter = std::min(image.width(), image.height());
      const int64_t longer = std::max(image.width(), image.height());
      const int64_t new_shorter = shorter_ > 0 ? shorter_ : std::max<int64_t>(1, longer_ * shorter / longer);
      const int64_t new_longer = shorter_ > 0 ? shorter_ * longer / shorter : longer_;
      width = wide ? new_longer : new_shorter;
      height = wide ? new_shorter : new_longer;
      if (static_cast<uint64_t>(width) * static_cast<uint64_t>(height) > limits_.max_pixels) {
        return absl::ResourceExhaustedError(
            absl::StrCat("an image of ", image.width(), " x ", image.height(), " would become ", width, " x ", height,
                         " pixels, over the limit of ", limits_.max_pixels, " (limits.max_image_pixels)"));
      }
    }
    return ResizeImage(context, &image, static_cast<int>(width), static_cast<int>(height), choice_);
  }

 private:
  const int height_, width_;
  const int64_t shorter_, longer_;
  const ResizeChoice choice_;
  const image::ImageLimits limits_;
};

std::unique_ptr<Op> MakeResize(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  if (!setup.input.IsImage()) setup.WrongInputNoImage();
  const v1::Resize& spec = setup.spec->resize();
  const bool exact = spec.height() != 0 || spec.width() != 0;
  if (exact + (spec.shorter_side() != 0) + (spec.longer_side() != 0) != 1) {
    setup.Error("", "give height and width, or shorter_side, or longer_side");
  } else if (exact) {
    CheckSide(setup, "height", spec.height());
    CheckSide(setup, "width", spec.width());
  } else if (spec.shorter_side() != 0) {
    CheckSide(setup, "shorter_side", spec.shorter_side());
  } else {
    CheckSide(setup, "longer_side", spec.longer_side());
  }
  const ResizeChoice choice = ChooseResize(setup, spec.resize(), spec.filter(), spec.no_antialias());
  if (setup.errors->size() != before) return nullptr;
  *output = {.dtype = batch::DType::kUint8, .shape = {kAnySize, kAnySize, setup.input.shape[2]}};
  if (exact) {
    output->shape[0] = spec.height();
    output->shape[1] = spec.width();
  }
  return std::make_unique<ResizeOp>(spec, choice, setup.limits);
}

const OpRegistration kResizeRegistration{"resize", MakeResize};

}  // namespace
}  // namespace penstock::augment
