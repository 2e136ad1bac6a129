// random_apply: applies all inner ops in order, or none, with one Bernoulli draw per sample (torchvision's
// RandomApply). If they are not applied, the image stays as it was and nothing is decoded.
#include "base/status_macros.h"
#include "pipeline/augment/op/children.h"
#include "pipeline/augment/op/op_registry.h"

namespace penstock::augment {
namespace {

class RandomApplyOp final : public Op {
 public:
  RandomApplyOp(OpChildren children, double probability, bool is_image)
      : children_(std::move(children)), probability_(probability), is_image_(is_image) {}

  bool IsRandom() const override { return (probability_ > 0 && probability_ < 1) || children_.AnyRandom(); }
  bool MakesImage() const override { return is_image_; }

  absl::Status Apply(OpContext* context, Value* value) const override {
    if (context->dry()) return DryRun(context, value);
    return context->random.Chance(probability_) ? ApplyAll(context, value) : absl::OkStatus();
  }

 private:
  absl::Status ApplyAll(OpContext* context, Value* value) const {
    for (size_t i = 0; i < children_.size(); ++i) {
      PS_RETURN_IF_ERROR(children_.Apply(i, i + 1 == children_.size(), context, value));
    }
    return absl::OkStatus();
  }

  absl::Status DryRun(OpContext* context, Value* value) const {
    DryOutcomes outcomes(is_image_, *value);
    if (probability_ < 1) outcomes.Add(*value, 0);
    if (probability_ > 0) {
      size_t bytes = 0;
      OpContext inside = *context;
      inside.dry_bytes = &bytes;
      Value applied = *value;
      PS_RETURN_IF_ERROR(ApplyAll(&inside, &applied));
      outcomes.Add(applied, bytes);
    }
    outcomes.Finish(context, value);
    return absl::OkStatus();
  }

  const OpChildren children_;
  const double probability_;
  const bool is_image_;
};

std::unique_ptr<Op> MakeRandomApply(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  const v1::RandomApply& spec = setup.spec->random_apply();
  const double probability = spec.has_probability() ? static_cast<double>(spec.probability()) : 0.5;
  if (!(probability >= 0 && probability <= 1)) setup.Error("probability", "must be from 0 to 1");
  OpChildren children = OpChildren::Create(setup, spec.ops(), OpChildren::Kind::kSequence);
  if (setup.errors->size() != before) return nullptr;
  *output = setup.input;
  return std::make_unique<RandomApplyOp>(std::move(children), probability, setup.input.IsImage());
}

const OpRegistration kRandomApplyRegistration{"random_apply", MakeRandomApply};

}  // namespace
}  // namespace penstock::augment
