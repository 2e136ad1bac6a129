// random_crop: crops a window of a fixed size at a uniform position. Source: torchvision's transforms.RandomCrop. First
// it adds `padding` on every side. With pad_if_needed, it then adds to both sides of an axis as many pixels as the axis
// lacks. Draws: the row, then the column of the window, each uniform over all positions inside; no draw if there is
// only one position.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/common/draws.h"
#include "pipeline/augment/ops/common/fields.h"
#include "pipeline/augment/ops/common/moves.h"

namespace penstock::augment {
namespace {

class RandomCropOp final : public Op {
 public:
  RandomCropOp(const v1::RandomCrop& spec, image::PadMode mode, const FillColor& fill)
      : width_(static_cast<int>(spec.width())),
        height_(static_cast<int>(spec.height())),
        padding_(static_cast<int>(spec.padding())),
        pad_if_needed_(spec.pad_if_needed()),
        mode_(mode),
        fill_(fill) {}

  bool IsRandom() const override { return true; }

  absl::Status Apply(OpContext* context, Value* value) const override {
    LazyImage& image = value->image;
    // The padding on the left and above, and the padded size.
    int left = padding_, top = padding_;
    int width = image.width() + 2 * padding_, height = image.height() + 2 * padding_;
    if (width < width_ || height < height_) {
      if (!pad_if_needed_ && !context->dry()) {
        return absl::InvalidArgumentError(absl::StrCat("the image, with its padding, is ", width, " x ", height,
                                                       ", smaller than the crop of ", width_, " x ", height_,
                                                       "; set pad_if_needed, or resize it first"));
      }
      const int wide = std::max(0, width_ - width), high = std::max(0, height_ - height);
      left += wide;
      top += high;
      width += 2 * wide;
      height += 2 * high;
    }
    const int y = context->dry() ? 0 : DrawInteger(0, height - height_, &context->random);
    const int x = context->dry() ? 0 : DrawInteger(0, width - width_, &context->random);
    return WindowImage(context, &image, {x - left, y - top, width_, height_}, mode_, fill_);
  }

 private:
  const int width_, height_, padding_;
  const bool pad_if_needed_;
  const image::PadMode mode_;
  const FillColor fill_;
};

std::unique_ptr<Op> MakeRandomCrop(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  CheckImageInput(setup);
  const v1::RandomCrop& spec = setup.spec->random_crop();
  CheckSide(setup, "height", spec.height());
  CheckSide(setup, "width", spec.width());
  if (spec.padding() != 0) CheckSide(setup, "padding", spec.padding());
  const image::PadMode mode = ChoosePadMode(setup, spec.mode());
  const FillColor fill = ChooseFill(setup, spec.fill(), spec.mask_fill());
  if (setup.errors->size() != before) return nullptr;
  *output = {.dtype = batch::DType::kUint8, .shape = {spec.height(), spec.width(), setup.input.shape[2]}};
  return std::make_unique<RandomCropOp>(spec, mode, fill);
}

const OpRegistration kRandomCropRegistration{"random_crop", MakeRandomCrop};

}  // namespace
}  // namespace penstock::augment
