// hue: shifts the hue by a fraction of the circle uniform in [min, max] (no draw if they are equal), in Pillow's 8-bit
// HSV. Even a shift of 0 goes through HSV. Draws: probability, shift. Source: torchvision's adjust_hue on PIL images.
#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/common/color_op.h"

namespace penstock::augment {
namespace {

std::unique_ptr<Op> MakeHue(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  const v1::Hue& spec = setup.spec->hue();
  const FactorRange range =
      CheckRange(setup, static_cast<double>(spec.min()), static_cast<double>(spec.max()), -0.5, 0.5);
  const auto draw = [range](SampleRandom* random, int, int) {
    const double turn = range.Draw(random);
    const auto change = [turn](const image::ImageView& in, image::ImageTarget out) { image::AdjustHue(in, turn, out); };
    return std::optional(change);
  };
  return MakeColorOnlyOp(setup, before, ChooseChance(setup, spec), range.IsRandom(), draw, output);
}

const OpRegistration kHueRegistration{"hue", MakeHue};

}  // namespace
}  // namespace penstock::augment
