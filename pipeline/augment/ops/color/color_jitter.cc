// color_jitter: applies brightness, contrast, saturation and hue in a random order. Draws, in this order: probability;
// the order of the four (three bounded draws, Fisher and Yates); then a factor for each that is not 0, brightness
// first. Factors are uniform in [max(0, 1 - x), 1 + x], the hue in [-hue, hue]. On gray images saturation and hue do
// nothing.
// Source: torchvision.transforms.ColorJitter (get_params and forward).
#include <array>
#include <utility>

#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/common/color_op.h"

namespace penstock::augment {
namespace {

struct Jitter {
  std::array<int, 4> order = {0, 1, 2, 3};
  std::array<std::optional<double>, 4> factor;

  void operator()(const image::ImageView& in, image::ImageTarget out) const {
    image::ImageView from = in;
    for (const int step : order) {
      if (!factor[static_cast<size_t>(step)].has_value()) continue;
      const double by = *factor[static_cast<size_t>(step)];
      if (step == 0) image::AdjustBrightness(from, static_cast<float>(by), out);
      if (step == 1) image::AdjustContrast(from, static_cast<float>(by), out);
      if (step == 2) image::AdjustSaturation(from, static_cast<float>(by), out);
      if (step == 3) image::AdjustHue(from, by, out);
      from.data = out.data;
      from.stride = out.stride;
    }
    if (from.data != out.data) image::CopyPixels(from, out);
  }
};

std::unique_ptr<Op> MakeColorJitter(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  const v1::ColorJitter& spec = setup.spec->color_jitter();
  std::array<FactorRange, 4> ranges;
  const std::pair<const char*, float> strengths[] = {
      {"brightness", spec.brightness()}, {"contrast", spec.contrast()}, {"saturation", spec.saturation()}};
  for (size_t i = 0; i < 3; ++i) {
    const double strength = static_cast<double>(strengths[i].second);
    if (!(strength >= 0 && strength <= 1000)) setup.Error(strengths[i].first, "must be from 0 to 1000");
    ranges[i] = {std::max(0.0, 1 - strength), 1 + strength};
  }
  const double hue = static_cast<double>(spec.hue());
  if (!(hue >= 0 && hue <= 0.5)) setup.Error("hue", "must be from 0 to 0.5");
  ranges[3] = {-hue, hue};
  bool any = false;
  for (const FactorRange& range : ranges) any = any || range.IsRandom();
  const auto draw = [ranges, any](SampleRandom* random, int, int) -> std::optional<Jitter> {
    if (!any) return std::nullopt;
    Jitter jitter;
    for (size_t i = 3; i > 0; --i) {
      std::swap(jitter.order[i], jitter.order[random->Below(static_cast<uint32_t>(i) + 1)]);
    }
    for (size_t i = 0; i < 4; ++i) {
      if (ranges[i].IsRandom()) jitter.factor[i] = ranges[i].Draw(random);
    }
    return jitter;
  };
  return MakeColorOp(setup, before, ChooseChance(setup, spec), any, draw, output);
}

const OpRegistration kColorJitterRegistration{"color_jitter", MakeColorJitter};

}  // namespace
}  // namespace penstock::augment
