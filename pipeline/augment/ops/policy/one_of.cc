// one_of: applies one of the inner ops, drawn in proportion to their weights (torchvision's RandomChoice). One uniform
// draw of 53 bits per sample.
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "pipeline/augment/op/children.h"
#include "pipeline/augment/op/op_registry.h"

namespace penstock::augment {
namespace {

class OneOfOp final : public Op {
 public:
  // `weights` has one entry per child, not all 0.
  OneOfOp(OpChildren children, const std::vector<double>& weights, bool is_image)
      : children_(std::move(children)), is_image_(is_image) {
    double sum = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      if (weights[i] == 0) continue;
      sum += weights[i];
      choices_.push_back({i, sum});
    }
  }

  bool IsRandom() const override { return choices_.size() > 1 || children_.AnyRandom(); }
  bool MakesImage() const override { return is_image_; }

  absl::Status Apply(OpContext* context, Value* value) const override {
    if (context->dry()) return DryRun(context, value);
    const double at = context->random.UniformDouble() * choices_.back().up_to;
    size_t c = 0;
    while (c + 1 < choices_.size() && at >= choices_[c].up_to) ++c;
    return children_.Apply(choices_[c].child, /*last=*/true, context, value);
  }

 private:
  struct Choice {
    size_t child;
    double up_to;  // cumulative weight
  };

  absl::Status DryRun(OpContext* context, Value* value) const {
    DryOutcomes outcomes(is_image_, *value);
    for (const Choice& choice : choices_) {
      size_t bytes = 0;
      OpContext inside = *context;
      inside.dry_bytes = &bytes;
      Value applied = *value;
      PS_RETURN_IF_ERROR(children_.Apply(choice.child, /*last=*/true, &inside, &applied));
      outcomes.Add(applied, bytes);
    }
    outcomes.Finish(context, value);
    return absl::OkStatus();
  }

  const OpChildren children_;
  const bool is_image_;
  std::vector<Choice> choices_;
};

std::unique_ptr<Op> MakeOneOf(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  const v1::OneOf& spec = setup.spec->one_of();
  OpChildren children = OpChildren::Create(setup, spec.ops(), OpChildren::Kind::kAlternatives);
  std::vector<double> weights(spec.weights().begin(), spec.weights().end());
  if (weights.empty()) weights.assign(static_cast<size_t>(spec.ops_size()), 1.0);
  if (weights.size() != static_cast<size_t>(spec.ops_size())) {
    setup.Error("weights",
                absl::StrCat("has ", weights.size(), " values for ", spec.ops_size(), " ops; it needs one for each"));
  }
  double sum = 0;
  for (const double weight : weights) {
    if (!(weight >= 0) || !std::isfinite(weight)) setup.Error("weights", "must be finite and not below 0");
    sum += weight;
  }
  if (!weights.empty() && sum == 0) setup.Error("weights", "are all 0");
  if (setup.errors->size() != before) return nullptr;
  *output = children.output();
  return std::make_unique<OneOfOp>(std::move(children), weights, setup.input.IsImage());
}

const OpRegistration kOneOfRegistration{"one_of", MakeOneOf};

}  // namespace
}  // namespace penstock::augment
