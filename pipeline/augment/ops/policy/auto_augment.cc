// auto_augment: Cubuk et al., "AutoAugment: Learning Augmentation Policies from Data" (CVPR 2019), like torchvision's
// transforms.AutoAugment. A policy has 25 pairs of ops, each op with a probability and a magnitude (one of 10).
// Draws, in this order and always all of them: the pair, uniform over 25; a uniform number for the first op and one for
// the second (applied if it is below the op's probability); a sign for the first and one for the second, each with
// probability 1/2.
#include "pipeline/augment/ops/policy/auto_augment.h"

#include "pipeline/augment/op/op_registry.h"

namespace penstock::augment {
namespace {

using enum PolicyOp;
constexpr uint32_t kAutoAugmentBins = 10;
// The bin of ops without a magnitude.
constexpr uint8_t kNone = 0;

constexpr AutoAugmentPair kImagenet[] = {
    {{kPosterize, 0.4, 8}, {kRotate, 0.6, 9}},
    {{kSolarize, 0.6, 5}, {kAutoContrast, 0.6, kNone}},
    {{kEqualize, 0.8, kNone}, {kEqualize, 0.6, kNone}},
    {{kPosterize, 0.6, 7}, {kPosterize, 0.6, 6}},
    {{kEqualize, 0.4, kNone}, {kSolarize, 0.2, 4}},
    {{kEqualize, 0.4, kNone}, {kRotate, 0.8, 8}},
    {{kSolarize, 0.6, 3}, {kEqualize, 0.6, kNone}},
    {{kPosterize, 0.8, 5}, {kEqualize, 1.0, kNone}},
    {{kRotate, 0.2, 3}, {kSolarize, 0.6, 8}},
    {{kEqualize, 0.6, kNone}, {kPosterize, 0.4, 6}},
    {{kRotate, 0.8, 8}, {kColor, 0.4, 0}},
    {{kRotate, 0.4, 9}, {kEqualize, 0.6, kNone}},
    {{kEqualize, 0.0, kNone}, {kEqualize, 0.8, kNone}},
    {{kInvert, 0.6, kNone}, {kEqualize, 1.0, kNone}},
    {{kColor, 0.6, 4}, {kContrast, 1.0, 8}},
    {{kRotate, 0.8, 8}, {kColor, 1.0, 2}},
    {{kColor, 0.8, 8}, {kSolarize, 0.8, 7}},
    {{kSharpness, 0.4, 7}, {kInvert, 0.6, kNone}},
    {{kShearX, 0.6, 5}, {kEqualize, 1.0, kNone}},
    {{kColor, 0.4, 0}, {kEqualize, 0.6, kNone}},
    {{kEqualize, 0.4, kNone}, {kSolarize, 0.2, 4}},
    {{kSolarize, 0.6, 5}, {kAutoContrast, 0.6, kNone}},
    {{kInvert, 0.6, kNone}, {kEqualize, 1.0, kNone}},
    {{kColor, 0.6, 4}, {kContrast, 1.0, 8}},
    {{kEqualize, 0.8, kNone}, {kEqualize, 0.6, kNone}},
};

constexpr AutoAugmentPair kCifar10[] = {
    {{kInvert, 0.1, kNone}, {kContrast, 0.2, 6}},
    {{kRotate, 0.7, 2}, {kTranslateX, 0.3, 9}},
    {{kSharpness, 0.8, 1}, {kSharpness, 0.9, 3}},
    {{kShearY, 0.5, 8}, {kTranslateY, 0.7, 9}},
    {{kAutoContrast, 0.5, kNone}, {kEqualize, 0.9, kNone}},
    {{kShearY, 0.2, 7}, {kPosterize, 0.3, 7}},
    {{kColor, 0.4, 3}, {kBrightness, 0.6, 7}},
    {{kSharpness, 0.3, 9}, {kBrightness, 0.7, 9}},
    {{kEqualize, 0.6, kNone}, {kEqualize, 0.5, kNone}},
    {{kContrast, 0.6, 7}, {kSharpness, 0.6, 5}},
    {{kColor, 0.7, 7}, {kTranslateX, 0.5, 8}},
    {{kEqualize, 0.3, kNone}, {kAutoContrast, 0.4, kNone}},
    {{kTranslateY, 0.4, 3}, {kSharpness, 0.2, 6}},
    {{kBrightness, 0.9, 6}, {kColor, 0.2, 8}},
    {{kSolarize, 0.5, 2}, {kInvert, 0.0, kNone}},
    {{kEqualize, 0.2, kNone}, {kAutoContrast, 0.6, kNone}},
    {{kEqualize, 0.2, kNone}, {kEqualize, 0.6, kNone}},
    {{kColor, 0.9, 9}, {kEqualize, 0.6, kNone}},
    {{kAutoContrast, 0.8, kNone}, {kSolarize, 0.2, 8}},
    {{kBrightness, 0.1, 3}, {kColor, 0.7, 0}},
    {{kSolarize, 0.4, 5}, {kAutoContrast, 0.9, kNone}},
    {{kTranslateY, 0.9, 9}, {kTranslateY, 0.7, 9}},
    {{kAutoContrast, 0.9, kNone}, {kSolarize, 0.8, 3}},
    {{kEqualize, 0.8, kNone}, {kInvert, 0.1, kNone}},
    {{kTranslateY, 0.7, 9}, {kAutoContrast, 0.9, kNone}},
};

constexpr AutoAugmentPair kSvhn[] = {
    {{kShearX, 0.9, 4}, {kInvert, 0.2, kNone}},
    {{kShearY, 0.9, 8}, {kInvert, 0.7, kNone}},
    {{kEqualize, 0.6, kNone}, {kSolarize, 0.6, 6}},
    {{kInvert, 0.9, kNone}, {kEqualize, 0.6, kNone}},
    {{kEqualize, 0.6, kNone}, {kRotate, 0.9, 3}},
    {{kShearX, 0.9, 4}, {kAutoContrast, 0.8, kNone}},
    {{kShearY, 0.9, 8}, {kInvert, 0.4, kNone}},
    {{kShearY, 0.9, 5}, {kSolarize, 0.2, 6}},
    {{kInvert, 0.9, kNone}, {kAutoContrast, 0.8, kNone}},
    {{kEqualize, 0.6, kNone}, {kRotate, 0.9, 3}},
    {{kShearX, 0.9, 4}, {kSolarize, 0.3, 3}},
    {{kShearY, 0.8, 8}, {kInvert, 0.7, kNone}},
    {{kEqualize, 0.9, kNone}, {kTranslateY, 0.6, 6}},
    {{kInvert, 0.9, kNone}, {kEqualize, 0.6, kNone}},
    {{kContrast, 0.3, 3}, {kRotate, 0.8, 4}},
    {{kInvert, 0.8, kNone}, {kTranslateY, 0.0, 2}},
    {{kShearY, 0.7, 6}, {kSolarize, 0.4, 8}},
    {{kInvert, 0.6, kNone}, {kRotate, 0.8, 4}},
    {{kShearY, 0.3, 7}, {kTranslateX, 0.9, 3}},
    {{kShearX, 0.1, 6}, {kInvert, 0.6, kNone}},
    {{kSolarize, 0.7, 2}, {kTranslateY, 0.6, 7}},
    {{kShearY, 0.8, 4}, {kInvert, 0.8, kNone}},
    {{kShearX, 0.7, 9}, {kTranslateY, 0.8, 3}},
    {{kShearY, 0.8, 5}, {kAutoContrast, 0.7, kNone}},
    {{kShearX, 0.7, 2}, {kInvert, 0.1, kNone}},
};

class AutoAugmentOp final : public Op {
 public:
  AutoAugmentOp(std::span<const AutoAugmentPair> pairs, const WarpStyle& style) : pairs_(pairs), style_(style) {}

  bool IsRandom() const override { return true; }

  absl::Status Apply(OpContext* context, Value* value) const override {
    LazyImage* image = &value->image;
    if (context->dry()) return ApplyPolicyOps(std::array<PolicyChoice, 2>(), style_, context, image);
    const auto choices = DrawAutoAugment(pairs_, image->width(), image->height(), &context->random);
    return ApplyPolicyOps(choices, style_, context, image);
  }

 private:
  const std::span<const AutoAugmentPair> pairs_;
  const WarpStyle style_;
};

}  // namespace

std::span<const AutoAugmentPair> AutoAugmentPairs(v1::AutoAugment::Policy policy) {
  switch (policy) {
    case v1::AutoAugment::IMAGENET:
      return kImagenet;
    case v1::AutoAugment::CIFAR10:
      return kCifar10;
    case v1::AutoAugment::SVHN:
      return kSvhn;
    default:
      return {};
  }
}

std::array<PolicyChoice, 2> DrawAutoAugment(std::span<const AutoAugmentPair> pairs, int width, int height,
                                            SampleRandom* random) {
  const AutoAugmentPair& pair = pairs[random->Below(static_cast<uint32_t>(pairs.size()))];
  const AutoAugmentStep* steps[] = {&pair.first, &pair.second};
  bool applied[2];
  for (size_t i = 0; i < 2; ++i) applied[i] = random->Chance(steps[i]->probability);
  std::array<PolicyChoice, 2> choices;
  for (size_t i = 0; i < 2; ++i) {
    const bool positive = random->Below(2) == 1;
    if (!applied[i]) continue;
    const PolicyOp op = steps[i]->op;
    choices[i] = {op, PolicyMagnitude(PolicySpace::kAutoAugment, op, steps[i]->bin, kAutoAugmentBins, width, height)};
    if (IsSigned(op) && !positive) choices[i].magnitude = -choices[i].magnitude;
  }
  return choices;
}

namespace {

std::unique_ptr<Op> MakeAutoAugment(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  const v1::AutoAugment& spec = setup.spec->auto_augment();
  const WarpStyle style = ChooseWarpStyle(setup, spec.filter(), spec.fill(), spec.mask_fill());
  const auto pairs = AutoAugmentPairs(spec.policy());
  if (pairs.empty()) setup.Error("policy", "must be IMAGENET, CIFAR10 or SVHN");
  if (setup.errors->size() != before) return nullptr;
  *output = setup.input;
  return std::make_unique<AutoAugmentOp>(pairs, style);
}

const OpRegistration kAutoAugmentRegistration{"auto_augment", MakeAutoAugment};

}  // namespace
}  // namespace penstock::augment
