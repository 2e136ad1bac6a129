// grayscale, posterize, solarize, invert, equalize, autocontrast. Draws: probability. Source: Pillow's ImageOps, as
// torchvision calls it; the pixels are equal. Grayscale keeps the number of channels and leaves a gray image unchanged.
#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/common/color_op.h"

namespace penstock::augment {
namespace {

// Returns the draw() of an op without random parameters.
template <typename Change>
auto Always(Change change) {
  return [change](SampleRandom*, int, int) { return std::optional<Change>(change); };
}

std::unique_ptr<Op> MakeGrayscale(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  return MakeColorOnlyOp(setup, before, ChooseChance(setup, setup.spec->grayscale()), false, Always(image::ToGrayscale),
                         output);
}

std::unique_ptr<Op> MakePosterize(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  const v1::Posterize& spec = setup.spec->posterize();
  if (spec.bits() < 1 || spec.bits() > 8) setup.Error("bits", "must be from 1 to 8");
  const int bits = static_cast<int>(spec.bits());
  return MakeColorOp(
      setup, before, bits == 8 ? 0 : ChooseChance(setup, spec), false,
      Always([bits](const image::ImageView& in, image::ImageTarget out) { image::Posterize(in, bits, out); }), output);
}

std::unique_ptr<Op> MakeSolarize(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  const v1::Solarize& spec = setup.spec->solarize();
  if (spec.threshold() > 256) setup.Error("threshold", "must be from 0 to 256");
  const int threshold = static_cast<int>(spec.threshold());
  return MakeColorOp(
      setup, before, ChooseChance(setup, spec), false,
      Always([threshold](const image::ImageView& in, image::ImageTarget out) { image::Solarize(in, threshold, out); }),
      output);
}

std::unique_ptr<Op> MakeInvert(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  return MakeColorOp(setup, before, ChooseChance(setup, setup.spec->invert()), false, Always(image::Invert), output);
}

std::unique_ptr<Op> MakeEqualize(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  return MakeColorOp(setup, before, ChooseChance(setup, setup.spec->equalize()), false, Always(image::Equalize),
                     output);
}

std::unique_ptr<Op> MakeAutocontrast(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  return MakeColorOp(setup, before, ChooseChance(setup, setup.spec->autocontrast()), false, Always(image::Autocontrast),
                     output);
}

const OpRegistration kPointOpsRegistrations[] = {
    {"grayscale", MakeGrayscale}, {"posterize", MakePosterize}, {"solarize", MakeSolarize},
    {"invert", MakeInvert},       {"equalize", MakeEqualize},   {"autocontrast", MakeAutocontrast},
};

}  // namespace
}  // namespace penstock::augment
