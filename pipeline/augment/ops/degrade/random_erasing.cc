// random_erasing: erases a rectangle. Source: torchvision.transforms.RandomErasing.get_params.
// Draws, in this order:
//   - probability;
//   - up to ten times an area uniform in [scale_min, scale_max] of the image's area, and an aspect (height / width)
//     log-uniform in [ratio_min, ratio_max], until the rectangle is smaller than the image in both directions (if none
//     is, the image stays unchanged);
//   - its top and left, uniform;
//   - the color or the pixels, as uniform bytes (torchvision draws normal values, because it works on normalized
//     tensors).
#include <cmath>

#include "base/portable_math.h"
#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/common/color_op.h"
#include "pipeline/image/degrade.h"

namespace penstock::augment {
namespace {

struct Eraser {
  double scale_min = 0.02, scale_max = 0.33;
  double log_ratio_min = 0, log_ratio_max = 0;
  v1::RandomErasing::Fill fill = v1::RandomErasing::VALUE;
  FillColor value;
};

struct Erase {
  image::Rect rect;
  FillColor color;
  SampleRandom* pixels = nullptr;  // null: one color

  void operator()(const image::ImageView& in, image::ImageTarget out) const {
    image::CopyPixels(in, out);
    if (pixels != nullptr) {
      image::FillRectRandomly(in, rect, pixels, out);
    } else {
      image::FillRect(in, rect, color.values, out);
    }
  }
};

std::optional<Erase> DrawErase(const Eraser& eraser, SampleRandom* random, int width, int height) {
  const double area = static_cast<double>(width) * static_cast<double>(height);
  for (int i = 0; i < 10; ++i) {
    const double erased = area * DrawUniform(eraser.scale_min, eraser.scale_max, random);
    const double aspect = PortableExp(DrawUniform(eraser.log_ratio_min, eraser.log_ratio_max, random));
    const double high = std::nearbyint(std::sqrt(erased * aspect)), wide = std::nearbyint(std::sqrt(erased / aspect));
    if (!(high < height && wide < width)) continue;
    Erase erase;
    erase.rect.height = static_cast<int>(high);
    erase.rect.width = static_cast<int>(wide);
    erase.rect.y = DrawInteger(0, height - erase.rect.height, random);
    erase.rect.x = DrawInteger(0, width - erase.rect.width, random);
    erase.color = eraser.value;
    if (eraser.fill == v1::RandomErasing::COLOR) {
      for (uint8_t& value : erase.color.values) value = static_cast<uint8_t>(random->Below(256));
    }
    if (eraser.fill == v1::RandomErasing::PIXEL) erase.pixels = random;
    return erase;
  }
  return std::nullopt;
}

std::unique_ptr<Op> MakeRandomErasing(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  const v1::RandomErasing& spec = setup.spec->random_erasing();
  Eraser eraser;
  if (spec.scale_min() != 0) eraser.scale_min = static_cast<double>(spec.scale_min());
  if (spec.scale_max() != 0) eraser.scale_max = static_cast<double>(spec.scale_max());
  const double ratio_min = spec.ratio_min() != 0 ? static_cast<double>(spec.ratio_min()) : 0.3;
  const double ratio_max = spec.ratio_max() != 0 ? static_cast<double>(spec.ratio_max()) : 3.3;
  // The conditions are negated so that NaN is an error.
  if (!(eraser.scale_min > 0 && eraser.scale_min <= 1)) setup.Error("scale_min", "must be above 0 and at most 1");
  if (!(eraser.scale_max >= eraser.scale_min && eraser.scale_max <= 1)) {
    setup.Error("scale_max", "must be at least scale_min and at most 1");
  }
  if (!(ratio_min > 1e-3 && ratio_min < 1e3)) setup.Error("ratio_min", "must be between 0.001 and 1000");
  if (!(ratio_max >= ratio_min && ratio_max < 1e3)) {
    setup.Error("ratio_max", "must be at least ratio_min and below 1000");
  }
  if (!v1::RandomErasing::Fill_IsValid(spec.fill())) setup.Error("fill", "is none of VALUE, COLOR, PIXEL");
  if (spec.value_size() > 0 && spec.fill() != v1::RandomErasing::VALUE) {
    setup.Error("value", "goes with fill: VALUE only");
  }
  eraser.fill = spec.fill();
  const double probability = ChooseChance(setup, spec, 0.5);
  CheckImageInput(setup);
  if (setup.errors->size() != before) return nullptr;
  eraser.value = ChooseFill(setup, spec.value());
  eraser.log_ratio_min = PortableLog(ratio_min);
  eraser.log_ratio_max = PortableLog(ratio_max);
  const auto draw = [eraser](SampleRandom* random, int width, int height) {
    return DrawErase(eraser, random, width, height);
  };
  return MakeColorOp(setup, before, probability, true, draw, output);
}

const OpRegistration kRandomErasingRegistration{"random_erasing", MakeRandomErasing};

}  // namespace
}  // namespace penstock::augment
