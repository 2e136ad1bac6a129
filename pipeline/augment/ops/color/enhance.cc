// brightness, contrast, saturation, sharpness, gamma: draws a factor uniform in [min, max] (no draw if they are equal)
// and computes the pixels of Pillow's ImageEnhance (gamma: 255 * (x / 255) ^ factor). Draws: probability, factor.
// Source: torchvision.transforms.functional.adjust_* on PIL images. Factor 1 leaves the image unchanged.
#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/common/color_op.h"
#include "pipeline/augment/ops/common/pixel_op.h"

namespace penstock::augment {
namespace {

constexpr double kMaxFactor = 1000;

using Adjust = void (*)(const image::ImageView&, float, image::ImageTarget);

struct AdjustBy {
  Adjust adjust;
  float factor;
  void operator()(const image::ImageView& in, image::ImageTarget out) const { adjust(in, factor, out); }
};

auto DrawAdjust(const FactorRange& range, Adjust adjust) {
  return [range, adjust](SampleRandom* random, int, int) -> std::optional<AdjustBy> {
    const float factor = static_cast<float>(range.Draw(random));
    if (factor == 1) return std::nullopt;
    return AdjustBy{adjust, factor};
  };
}

// Reads neighboring pixels, so it cannot work in place.
class SharpnessOp final : public Op {
 public:
  SharpnessOp(double probability, const FactorRange& range) : probability_(probability), range_(range) {}

  bool IsRandom() const override { return range_.IsRandom() || (probability_ > 0 && probability_ < 1); }

  absl::Status Apply(OpContext* context, Value* value) const override {
    float factor = 0;
    if (!context->dry()) {
      if (!DrawChance(probability_, &context->random)) return absl::OkStatus();
      factor = static_cast<float>(range_.Draw(&context->random));
      if (factor == 1) return absl::OkStatus();
    }
    return FilterPixels(context, &value->image, [&](const image::ImageView& in, image::ImageTarget out) {
      image::AdjustSharpness(in, factor, out);
    });
  }

 private:
  const double probability_;
  const FactorRange range_;
};

std::unique_ptr<Op> MakeBrightness(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  const v1::Brightness& spec = setup.spec->brightness();
  const FactorRange range = ChooseFactors(setup, spec, 0, kMaxFactor);
  return MakeColorOp(setup, before, ChooseChance(setup, spec), range.IsRandom(),
                     DrawAdjust(range, image::AdjustBrightness), output);
}

std::unique_ptr<Op> MakeContrast(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  const v1::Contrast& spec = setup.spec->contrast();
  const FactorRange range = ChooseFactors(setup, spec, 0, kMaxFactor);
  return MakeColorOp(setup, before, ChooseChance(setup, spec), range.IsRandom(),
                     DrawAdjust(range, image::AdjustContrast), output);
}

std::unique_ptr<Op> MakeSaturation(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  const v1::Saturation& spec = setup.spec->saturation();
  const FactorRange range = ChooseFactors(setup, spec, 0, kMaxFactor);
  return MakeColorOnlyOp(setup, before, ChooseChance(setup, spec), range.IsRandom(),
                         DrawAdjust(range, image::AdjustSaturation), output);
}

std::unique_ptr<Op> MakeGamma(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  const v1::Gamma& spec = setup.spec->gamma();
  const FactorRange range = ChooseFactors(setup, spec, 0.01, 100);
  const auto adjust = [](const image::ImageView& in, float gamma, image::ImageTarget out) {
    image::AdjustGamma(in, static_cast<double>(gamma), out);
  };
  return MakeColorOp(setup, before, ChooseChance(setup, spec), range.IsRandom(), DrawAdjust(range, adjust), output);
}

std::unique_ptr<Op> MakeSharpness(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  const v1::Sharpness& spec = setup.spec->sharpness();
  const FactorRange range = ChooseFactors(setup, spec, 0, kMaxFactor);
  const double probability = ChooseChance(setup, spec);
  CheckImageInput(setup);
  if (setup.errors->size() != before) return nullptr;
  *output = setup.input;
  return std::make_unique<SharpnessOp>(probability, range);
}

const OpRegistration kEnhanceRegistrations[] = {
    {"brightness", MakeBrightness}, {"contrast", MakeContrast},   {"saturation", MakeSaturation},
    {"gamma", MakeGamma},           {"sharpness", MakeSharpness},
};

}  // namespace
}  // namespace penstock::augment
