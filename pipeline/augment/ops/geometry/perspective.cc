// perspective: moves the image's corners inward to random positions, up to distortion / 2 of a side; the size stays.
// Source: torchvision's transforms.RandomPerspective. Draws: whether to apply it (no draw if the probability is 0 or
// 1), then x and y of the upper left, upper right, lower right and lower left corners, each uniform over whole pixels.
#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/common/draws.h"
#include "pipeline/augment/ops/common/fields.h"
#include "pipeline/augment/ops/common/moves.h"

namespace penstock::augment {
namespace {

class PerspectiveOp final : public Op {
 public:
  PerspectiveOp(double distortion, double probability, image::WarpSampling sampling, const FillColor& fill)
      : distortion_(distortion), probability_(probability), sampling_(sampling), fill_(fill) {}

  bool IsRandom() const override { return true; }

  absl::Status Apply(OpContext* context, Value* value) const override {
    SampleRandom* random = &context->random;
    if (!context->dry() && !DrawChance(probability_, random)) return absl::OkStatus();
    LazyImage& image = value->image;
    const int width = image.width(), height = image.height();
    const int in_x = static_cast<int>(distortion_ * (width / 2)), in_y = static_cast<int>(distortion_ * (height / 2));
    const auto low = [&](int in) { return 1.0 * DrawInteger(0, in, random); };
    const auto high = [&](int in, int side) { return 1.0 * DrawInteger(side - in - 1, side - 1, random); };
    std::array<double, 8> to{};
    to[0] = low(in_x);
    to[1] = low(in_y);
    to[2] = high(in_x, width);
    to[3] = low(in_y);
    to[4] = high(in_x, width);
    to[5] = high(in_y, height);
    to[6] = low(in_x);
    to[7] = high(in_y, height);
    const double right = width - 1, bottom = height - 1;
    const image::WarpMap map = image::PerspectiveMap({0, 0, right, 0, right, bottom, 0, bottom}, to);
    return WarpImage(context, &image, map, sampling_, fill_, width, height);
  }

 private:
  const double distortion_, probability_;
  const image::WarpSampling sampling_;
  const FillColor fill_;
};

std::unique_ptr<Op> MakePerspective(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  CheckImageInput(setup);
  const v1::Perspective& spec = setup.spec->perspective();
  const double distortion = spec.distortion() != 0 ? static_cast<double>(spec.distortion()) : 0.5;
  if (!(distortion > 0 && distortion <= 1)) setup.Error("distortion", "must be above 0 and at most 1");
  const double probability = ChooseProbability(setup, spec.has_probability(), spec.probability(), 0.5);
  const image::WarpSampling sampling = ChooseSampling(setup, spec.filter());
  const FillColor fill = ChooseFill(setup, spec.fill(), spec.mask_fill());
  if (setup.errors->size() != before) return nullptr;
  *output = setup.input;
  return std::make_unique<PerspectiveOp>(distortion, probability, sampling, fill);
}

const OpRegistration kPerspectiveRegistration{"perspective", MakePerspective};

}  // namespace
}  // namespace penstock::augment
