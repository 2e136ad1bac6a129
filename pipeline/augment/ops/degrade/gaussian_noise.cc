// gaussian_noise: adds normal noise to every value, with a sigma uniform in [sigma_min, sigma_max] (no draw if they are
// equal). Draws: probability, sigma, then 16 bits per value, or per pixel with same_for_all_channels. The noise has
// 4096 points of equal probability and is rounded to integers: image/degrade.h.
// Source: torchvision.transforms.v2.GaussianNoise, on the 0..255 scale.
#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/common/color_op.h"
#include "pipeline/image/degrade.h"

namespace penstock::augment {
namespace {

struct Noise {
  double sigma;
  bool same;
  SampleRandom* random;
  void operator()(const image::ImageView& in, image::ImageTarget out) const {
    image::AddNoise(in, sigma, same, random, out);
  }
};

std::unique_ptr<Op> MakeGaussianNoise(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  const v1::GaussianNoise& spec = setup.spec->gaussian_noise();
  const FactorRange sigma = CheckRange(setup, static_cast<double>(spec.sigma_min()),
                                       static_cast<double>(spec.sigma_max()), 0, 255, "sigma_min", "sigma_max");
  if (spec.sigma_max() == 0) setup.Error("sigma_max", "is missing: the strongest noise, in steps of the 0..255 scale");
  const bool same = spec.same_for_all_channels();
  const auto draw = [sigma, same](SampleRandom* random, int, int) {
    const double drawn = sigma.Draw(random);
    return std::optional(Noise{drawn, same, random});
  };
  return MakeColorOp(setup, before, ChooseChance(setup, spec), true, draw, output);
}

const OpRegistration kGaussianNoiseRegistration{"gaussian_noise", MakeGaussianNoise};

}  // namespace
}  // namespace penstock::augment
