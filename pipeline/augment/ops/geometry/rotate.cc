// rotate: rotates about the center, counter-clockwise, by an angle uniform in [min_degrees, max_degrees]; the size
// stays. Source: torchvision's transforms.RandomRotation. Draws: whether to apply it (no draw if the probability is 0
// or 1), then the angle (no draw if both ends are equal).
#include <cmath>

#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/common/draws.h"
#include "pipeline/augment/ops/common/fields.h"
#include "pipeline/augment/ops/common/moves.h"

namespace penstock::augment {
namespace {

class RotateOp final : public Op {
 public:
  RotateOp(double min_degrees, double max_degrees, double probability, image::WarpSampling sampling,
           const FillColor& fill)
      : min_degrees_(min_degrees),
        max_degrees_(max_degrees),
        probability_(probability),
        sampling_(sampling),
        fill_(fill) {}

  bool IsRandom() const override { return min_degrees_ < max_degrees_ || (probability_ > 0 && probability_ < 1); }

  absl::Status Apply(OpContext* context, Value* value) const override {
    if (!context->dry() && !DrawChance(probability_, &context->random)) return absl::OkStatus();
    LazyImage& image = value->image;
    const double degrees = DrawUniform(min_degrees_, max_degrees_, &context->random);
    const int width = image.width(), height = image.height();
    return WarpImage(context, &image, image::RotateMap(degrees, width, height), sampling_, fill_, width, height);
  }

 private:
  const double min_degrees_, max_degrees_, probability_;
  const image::WarpSampling sampling_;
  const FillColor fill_;
};

std::unique_ptr<Op> MakeRotate(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  CheckImageInput(setup);
  const v1::Rotate& spec = setup.spec->rotate();
  // The conditions are negated so that NaN is an error.
  if (!(std::fabs(spec.min_degrees()) <= 3600)) setup.Error("min_degrees", "must be from -3600 to 3600");
  if (!(spec.max_degrees() >= spec.min_degrees() && spec.max_degrees() <= 3600)) {
    setup.Error("max_degrees", "must be at least min_degrees and at most 3600");
  }
  const image::WarpSampling sampling = ChooseSampling(setup, spec.filter());
  const FillColor fill = ChooseFill(setup, spec.fill(), spec.mask_fill());
  const double probability = ChooseProbability(setup, spec.has_probability(), spec.probability(), 1);
  if (setup.errors->size() != before) return nullptr;
  *output = setup.input;
  return std::make_unique<RotateOp>(spec.min_degrees(), spec.max_degrees(), probability, sampling, fill);
}

const OpRegistration kRotateRegistration{"rotate", MakeRotate};

}  // namespace
}  // namespace penstock::augment
