// random_resized_crop: resizes a random rectangle of the image to a fixed size. DrawResizedCrop defines the
// distribution.
#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/common/fields.h"
#include "pipeline/augment/ops/common/moves.h"
#include "pipeline/augment/ops/geometry/resized_crop.h"

namespace penstock::augment {
namespace {

class RandomResizedCropOp final : public Op {
 public:
  RandomResizedCropOp(int width, int height, const CropDraw& draw, const ResizeChoice& choice)
      : width_(width), height_(height), draw_(draw), choice_(choice) {}

  bool IsRandom() const override { return true; }

  absl::Status Apply(OpContext* context, Value* value) const override {
    LazyImage& image = value->image;
    if (!context->dry()) {
      CropImage(context, &image, DrawResizedCrop(draw_, image.width(), image.height(), &context->random));
    }
    return ResizeImage(context, &image, width_, height_, choice_);
  }

 private:
  const int width_, height_;
  const CropDraw draw_;
  const ResizeChoice choice_;
};

std::unique_ptr<Op> MakeRandomResizedCrop(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  if (!setup.input.IsImage()) setup.WrongInputNoImage();
  const v1::RandomResizedCrop& spec = setup.spec->random_resized_crop();
  CheckSide(setup, "height", spec.height());
  CheckSide(setup, "width", spec.width());
  CropDraw draw;
  if (spec.scale_min() != 0) draw.scale_min = spec.scale_min();
  if (spec.scale_max() != 0) draw.scale_max = spec.scale_max();
  if (spec.ratio_min() != 0) draw.ratio_min = spec.ratio_min();
  if (spec.ratio_max() != 0) draw.ratio_max = spec.ratio_max();
  // The conditions are negated so that NaN is an error.
  if (!(draw.scale_min > 0 && draw.scale_min <= 1)) setup.Error("scale_min", "must be above 0 and at most 1");
  if (!(draw.scale_max >= draw.scale_min && draw.scale_max <= 1)) {
    setup.Error("scale_max", "must be at least scale_min and at most 1");
  }
  if (!(draw.ratio_min > 1e-3 && draw.ratio_min < 1e3)) setup.Error("ratio_min", "must be between 0.001 and 1000");
  if (!(draw.ratio_max >= draw.ratio_min && draw.ratio_max < 1e3)) {
    setup.Error("ratio_max", "must be at least ratio_min and below 1000");
  }
  const ResizeChoice choice = ChooseResize(setup, spec.resize(), spec.filter(), spec.no_antialias());
  if (setup.errors->size() != before) return nullptr;
  *output = {.dtype = batch::DType::kUint8, .shape = {spec.height(), spec.width(), setup.input.shape[2]}};
  return std::make_unique<RandomResizedCropOp>(static_cast<int>(spec.width()), static_cast<int>(spec.height()), draw,
                                               choice);
}

const OpRegistration kRandomResizedCropRegistration{"random_resized_crop", MakeRandomResizedCrop};

}  // namespace
}  // namespace penstock::augment
