// pad: adds pixels around the image. Source: torchvision's transforms.Pad. No draws.
#include "absl/strings/str_cat.h"
#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/common/fields.h"
#include "pipeline/augment/ops/common/moves.h"

namespace penstock::augment {
namespace {

class PadOp final : public Op {
 public:
  PadOp(const v1::Pad& spec, image::PadMode mode, const FillColor& fill, const image::ImageLimits& limits)
      : left_(static_cast<int>(spec.left())),
        top_(static_cast<int>(spec.top())),
        right_(static_cast<int>(spec.right())),
        bottom_(static_cast<int>(spec.bottom())),
        mode_(mode),
        fill_(fill),
        limits_(limits) {}

  absl::Status Apply(OpContext* context, Value* value) const override {
    LazyImage& image = value->image;
    const int64_t width = int64_t{left_} + image.width() + right_, height = int64_t{top_} + image.height() + bottom_;
    if (static_cast<uint64_t>(width) * static_cast<uint64_t>(height) > limits_.max_pixels) {
      return absl::ResourceExhaustedError(
          absl::StrCat("an image of ", image.width(), " x ", image.height(), " would become ", width, " x ", height,
                       " pixels, over the limit of ", limits_.max_pixels, " (limits.max_image_pixels)"));
    }
    return WindowImage(context, &image, {-left_, -top_, static_cast<int>(width), static_cast<int>(height)}, mode_,
                       fill_);
  }

 private:
  const int left_, top_, right_, bottom_;
  const image::PadMode mode_;
  const FillColor fill_;
  const image::ImageLimits limits_;
};

std::unique_ptr<Op> MakePad(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  CheckImageInput(setup);
  const v1::Pad& spec = setup.spec->pad();
  const auto check = [&](std::string_view field, uint32_t pixels) {
    if (pixels > kMaxOutputSide) setup.Error(field, absl::StrCat("must be at most ", kMaxOutputSide));
  };
  check("left", spec.left());
  check("top", spec.top());
  check("right", spec.right());
  check("bottom", spec.bottom());
  if (spec.left() + spec.top() + spec.right() + spec.bottom() == 0) {
    setup.Error("", "names no side; give left, top, right or bottom");
  }
  const image::PadMode mode = ChoosePadMode(setup, spec.mode());
  const FillColor fill = ChooseFill(setup, spec.fill(), spec.mask_fill());
  if (setup.errors->size() != before) return nullptr;
  *output = setup.input;
  if (output->shape[0] != kAnySize) output->shape[0] += spec.top() + spec.bottom();
  if (output->shape[1] != kAnySize) output->shape[1] += spec.left() + spec.right();
  return std::make_unique<PadOp>(spec, mode, fill, setup.limits);
}

const OpRegistration kPadRegistration{"pad", MakePad};

}  // namespace
}  // namespace penstock::augment
