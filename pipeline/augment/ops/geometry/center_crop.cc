// center_crop: torchvision's center_crop. Offsets are round((side - crop) / 2), ties to even. A side smaller than the
// crop is padded with 0 (in masks: mask_fill), (crop - side) / 2 pixels (rounded down) on the left or top.
#include <algorithm>

#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/common/fields.h"
#include "pipeline/augment/ops/common/moves.h"

namespace penstock::augment {
namespace {

class CenterCropOp final : public Op {
 public:
  CenterCropOp(int width, int height, const FillColor& fill) : width_(width), height_(height), fill_(fill) {}

  absl::Status Apply(OpContext* context, Value* value) const override {
    LazyImage& image = value->image;
    const int width = std::min(width_, image.width()), height = std::min(height_, image.height());
    // Crops in a dry run too, because the resulting size is exact.
    const image::Rect rect = CenterRect(image.width(), image.height(), width, height);
    image.Crop(rect);
    context->Moved(ImageMove::Window(rect));
    if (width == width_ && height == height_) return absl::OkStatus();
    const image::Rect window{-((width_ - width) / 2), -((height_ - height) / 2), width_, height_};
    return WindowImage(context, &image, window, image::PadMode::kConstant, fill_);
  }

 private:
  const int width_, height_;
  const FillColor fill_;
};

std::unique_ptr<Op> MakeCenterCrop(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  if (!setup.input.IsImage()) setup.WrongInputNoImage();
  const v1::CenterCrop& spec = setup.spec->center_crop();
  CheckSide(setup, "height", spec.height());
  CheckSide(setup, "width", spec.width());
  const FillColor fill = ChooseFill(setup, {}, spec.mask_fill());
  if (setup.errors->size() != before) return nullptr;
  *output = {.dtype = batch::DType::kUint8, .shape = {spec.height(), spec.width(), setup.input.shape[2]}};
  return std::make_unique<CenterCropOp>(static_cast<int>(spec.width()), static_cast<int>(spec.height()), fill);
}

const OpRegistration kCenterCropRegistration{"center_crop", MakeCenterCrop};

}  // namespace
}  // namespace penstock::augment
