// zoom_out: places the image on a canvas that is larger by a factor. Source: torchvision's transforms.v2.RandomZoomOut
// (SSD's "expand"). Draws: whether to apply it (no draw if the probability is 0 or 1); the factor, uniform in
// [scale_min, scale_max] (no draw if both are equal); then the offsets to the right and down, each a uniform fraction
// of the free space. The factor is limited so that the canvas does not exceed limits.max_image_pixels.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/common/draws.h"
#include "pipeline/augment/ops/common/fields.h"
#include "pipeline/augment/ops/common/moves.h"

namespace penstock::augment {
namespace {

class ZoomOutOp final : public Op {
 public:
  ZoomOutOp(double scale_min, double scale_max, double probability, const FillColor& fill,
            const image::ImageLimits& limits)
      : scale_min_(scale_min), scale_max_(scale_max), probability_(probability), fill_(fill), limits_(limits) {}

  bool IsRandom() const override { return true; }

  absl::Status Apply(OpContext* context, Value* value) const override {
    SampleRandom* random = &context->random;
    if (!context->dry() && !DrawChance(probability_, random)) return absl::OkStatus();
    LazyImage& image = value->image;
    const int width = image.width(), height = image.height();
    const double most = std::sqrt(static_cast<double>(limits_.max_pixels) / (1.0 * width * height));
    if (most < scale_min_) {
      return absl::ResourceExhaustedError(absl::StrCat("a canvas ", scale_min_, " times as large as the image of ",
                                                       width, " x ", height, " is over the limit of ",
                                                       limits_.max_pixels, " pixels (limits.max_image_pixels)"));
    }
    const double scale_max = std::min(scale_max_, most);
    const double scale = context->dry() ? scale_max : DrawUniform(scale_min_, scale_max, random);
    const int canvas_width = std::max(width, static_cast<int>(width * scale));
    const int canvas_height = std::max(height, static_cast<int>(height * scale));
    const int left = static_cast<int>((canvas_width - width) * random->UniformDouble());
    const int top = static_cast<int>((canvas_height - height) * random->UniformDouble());
    return WindowImage(context, &image, {-left, -top, canvas_width, canvas_height}, image::PadMode::kConstant, fill_);
  }

 private:
  const double scale_min_, scale_max_, probability_;
  const FillColor fill_;
  const image::ImageLimits limits_;
};

std::unique_ptr<Op> MakeZoomOut(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  CheckImageInput(setup);
  const v1::ZoomOut& spec = setup.spec->zoom_out();
  const double scale_min = spec.scale_min() != 0 ? static_cast<double>(spec.scale_min()) : 1.0;
  const double scale_max = spec.scale_max() != 0 ? static_cast<double>(spec.scale_max()) : 4.0;
  if (!(scale_min >= 1 && scale_min <= 100)) setup.Error("scale_min", "must be from 1 to 100");
  if (!(scale_max >= scale_min && scale_max <= 100)) {
    setup.Error("scale_max", "must be at least scale_min and at most 100");
  }
  const double probability = ChooseProbability(setup, spec.has_probability(), spec.probability(), 0.5);
  const FillColor fill = ChooseFill(setup, spec.fill(), spec.mask_fill());
  if (setup.errors->size() != before) return nullptr;
  *output = {.dtype = batch::DType::kUint8, .shape = {kAnySize, kAnySize, setup.input.shape[2]}};
  return std::make_unique<ZoomOutOp>(scale_min, scale_max, probability, fill, setup.limits);
}

const OpRegistration kZoomOutRegistration{"zoom_out", MakeZoomOut};

}  // namespace
}  // namespace penstock::augment
