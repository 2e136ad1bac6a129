// pca_lighting: adds a combination of the principal components of ImageNet's RGB values to all pixels. Draws:
// probability; three normal weights with mean 0 and standard deviation sigma. Leaves gray images unchanged.
// Source: Krizhevsky, Sutskever and Hinton, "ImageNet classification with deep convolutional neural networks" (2012),
// section 4.1. The components and their standard deviations are those of fb.resnet.torch, in units of the 0..1 scale.
#include <array>

#include "base/distributions.h"
#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/common/color_op.h"

namespace penstock::augment {
namespace {

constexpr double kValues[3] = {0.2175, 0.0188, 0.0045};
constexpr double kVectors[3][3] = {{-0.5675, 0.7192, 0.4009}, {-0.5808, -0.0045, -0.8140}, {-0.5836, -0.6948, 0.4203}};

struct Light {
  std::array<float, 3> offset = {0, 0, 0};
  void operator()(const image::ImageView& in, image::ImageTarget out) const {
    image::AddToChannels(in, offset.data(), out);
  }
};

std::unique_ptr<Op> MakePcaLighting(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  const v1::PcaLighting& spec = setup.spec->pca_lighting();
  const double sigma = spec.sigma() == 0 ? 0.1 : static_cast<double>(spec.sigma());
  if (!(sigma > 0 && sigma <= 10)) setup.Error("sigma", "must be above 0 and at most 10");
  const auto draw = [sigma](SampleRandom* random, int, int) {
    double weight[3];
    for (size_t i = 0; i < 3; ++i) weight[i] = sigma * DrawNormal(random) * kValues[i] * 255;
    Light light;
    for (size_t c = 0; c < 3; ++c) {
      light.offset[c] =
          static_cast<float>((kVectors[c][0] * weight[0] + kVectors[c][1] * weight[1]) + kVectors[c][2] * weight[2]);
    }
    return std::optional(light);
  };
  return MakeColorOnlyOp(setup, before, ChooseChance(setup, spec), true, draw, output);
}

const OpRegistration kPcaLightingRegistration{"pca_lighting", MakePcaLighting};

}  // namespace
}  // namespace penstock::augment
