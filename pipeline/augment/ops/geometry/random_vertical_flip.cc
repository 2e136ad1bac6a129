// random_vertical_flip: mirrors top to bottom with a probability. One Bernoulli draw per sample, or none if the
// probability is 0 or 1.
#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/common/draws.h"
#include "pipeline/augment/ops/common/fields.h"
#include "pipeline/augment/ops/common/pixel_op.h"

namespace penstock::augment {
namespace {

class RandomVerticalFlipOp final : public Op {
 public:
  explicit RandomVerticalFlipOp(double probability) : probability_(probability) {}

  bool IsRandom() const override { return probability_ > 0 && probability_ < 1; }

  absl::Status Apply(OpContext* context, Value* value) const override {
    if (!context->dry() && !DrawChance(probability_, &context->random)) return absl::OkStatus();
    LazyImage& image = value->image;
    PS_RETURN_IF_ERROR(FilterPixels(
        context, &image, [](const image::ImageView& in, image::ImageTarget out) { image::FlipVertically(in, out); }));
    context->Moved(ImageMove::UpsideDown(image.width(), image.height()));
    return absl::OkStatus();
  }

 private:
  const double probability_;
};

std::unique_ptr<Op> MakeRandomVerticalFlip(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  CheckImageInput(setup);
  const v1::RandomVerticalFlip& spec = setup.spec->random_vertical_flip();
  const double probability = ChooseProbability(setup, spec.has_probability(), spec.probability(), 0.5);
  if (setup.errors->size() != before) return nullptr;
  *output = setup.input;
  return std::make_unique<RandomVerticalFlipOp>(probability);
}

const OpRegistration kRandomVerticalFlipRegistration{"random_vertical_flip", MakeRandomVerticalFlip};

}  // namespace
}  // namespace penstock::augment
