// random_horizontal_flip: mirrors left to right with a probability. One Bernoulli draw per sample.
#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/common/moves.h"

namespace penstock::augment {
namespace {

class RandomHorizontalFlipOp final : public Op {
 public:
  explicit RandomHorizontalFlipOp(double probability) : probability_(probability) {}

  bool IsRandom() const override { return true; }

  absl::Status Apply(OpContext* context, Value* value) const override {
    if (context->dry() || context->random.Chance(probability_)) MirrorImage(context, &value->image);
    return absl::OkStatus();
  }

 private:
  const double probability_;
};

std::unique_ptr<Op> MakeRandomHorizontalFlip(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  if (!setup.input.IsImage()) setup.WrongInputNoImage();
  const v1::RandomHorizontalFlip& spec = setup.spec->random_horizontal_flip();
  const double probability = spec.has_probability() ? static_cast<double>(spec.probability()) : 0.5;
  if (!(probability >= 0 && probability <= 1)) setup.Error("probability", "must be from 0 to 1");
  if (setup.errors->size() != before) return nullptr;
  *output = setup.input;
  return std::make_unique<RandomHorizontalFlipOp>(probability);
}

const OpRegistration kRandomHorizontalFlipRegistration{"random_horizontal_flip", MakeRandomHorizontalFlip};

}  // namespace
}  // namespace penstock::augment
