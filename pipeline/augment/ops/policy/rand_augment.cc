// rand_augment: Cubuk et al., "RandAugment: Practical automated data augmentation with a reduced search space" (2020),
// like torchvision's transforms.RandAugment. Applies num_ops times one of 14 ops, uniform (an op may repeat), all at
// one magnitude.
// trivial_augment_wide: Müller and Hutter, "TrivialAugment" (ICCV 2021), like torchvision's TrivialAugmentWide. Applies
// one of the 14 ops at a magnitude uniform over the bins of a wider range.
// Draws, for each op: the op; for trivial_augment_wide the magnitude's bin, if the op has magnitudes; the sign, with
// probability 1/2, if the op has one.
#include "pipeline/augment/ops/policy/rand_augment.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "pipeline/augment/op/op_registry.h"

namespace penstock::augment {
namespace {

using enum PolicyOp;
// In torchvision's order, which defines the indices.
constexpr PolicyOp kRandAugmentOps[] = {kIdentity,  kShearX,     kShearY,       kTranslateX, kTranslateY,
                                        kRotate,    kBrightness, kColor,        kContrast,   kSharpness,
                                        kPosterize, kSolarize,   kAutoContrast, kEqualize};
constexpr uint32_t kDefaultBins = 31, kMaxBins = 1024, kMaxOps = 16;

PolicyOp DrawOp(SampleRandom* random) {
  return kRandAugmentOps[random->Below(static_cast<uint32_t>(std::size(kRandAugmentOps)))];
}

class RandAugmentOp final : public Op {
 public:
  RandAugmentOp(uint32_t num_ops, uint32_t magnitude, uint32_t bins, const WarpStyle& style)
      : num_ops_(num_ops), magnitude_(magnitude), bins_(bins), style_(style) {}

  bool IsRandom() const override { return true; }

  absl::Status Apply(OpContext* context, Value* value) const override {
    LazyImage* image = &value->image;
    std::vector<PolicyChoice> choices(num_ops_);
    for (PolicyChoice& choice : choices) {
      if (context->dry()) break;
      choice = DrawRandAugment(magnitude_, bins_, image->width(), image->height(), &context->random);
    }
    return ApplyPolicyOps(choices, style_, context, image);
  }

 private:
  const uint32_t num_ops_, magnitude_, bins_;
  const WarpStyle style_;
};

class TrivialAugmentWideOp final : public Op {
 public:
  TrivialAugmentWideOp(uint32_t bins, const WarpStyle& style) : bins_(bins), style_(style) {}

  bool IsRandom() const override { return true; }

  absl::Status Apply(OpContext* context, Value* value) const override {
    PolicyChoice choice;
    if (!context->dry()) {
      choice = DrawTrivialAugmentWide(bins_, value->image.width(), value->image.height(), &context->random);
    }
    return ApplyPolicyOps({&choice, 1}, style_, context, &value->image);
  }

 private:
  const uint32_t bins_;
  const WarpStyle style_;
};

uint32_t ChooseBins(const OpSetup& setup, uint32_t said) {
  const uint32_t bins = said > 0 ? said : kDefaultBins;
  if (bins < 2 || bins > kMaxBins) {
    setup.Error("num_magnitude_bins", absl::StrCat("must be from 2 to ", kMaxBins, ", not ", bins));
  }
  return bins;
}

}  // namespace

PolicyChoice DrawRandAugment(uint32_t bin, uint32_t bins, int width, int height, SampleRandom* random) {
  const PolicyOp op = DrawOp(random);
  PolicyChoice choice{op, PolicyMagnitude(PolicySpace::kAutoAugment, op, bin, bins, width, height)};
  if (IsSigned(op) && random->Below(2) == 1) choice.magnitude = -choice.magnitude;
  return choice;
}

PolicyChoice DrawTrivialAugmentWide(uint32_t bins, int width, int height, SampleRandom* random) {
  const PolicyOp op = DrawOp(random);
  return DrawPolicyChoice(PolicySpace::kTrivialWide, op, bins, bins, width, height, random);
}

namespace {

std::unique_ptr<Op> MakeRandAugment(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  const v1::RandAugment& spec = setup.spec->rand_augment();
  const WarpStyle style = ChooseWarpStyle(setup, spec.filter(), spec.fill(), spec.mask_fill());
  const uint32_t num_ops = spec.num_ops() > 0 ? spec.num_ops() : 2;
  if (num_ops > kMaxOps) setup.Error("num_ops", absl::StrCat("must be from 1 to ", kMaxOps, ", not ", num_ops));
  const uint32_t bins = ChooseBins(setup, spec.num_magnitude_bins());
  const uint32_t magnitude = spec.has_magnitude() ? spec.magnitude() : 9;
  if (magnitude >= bins) {
    setup.Error("magnitude",
                absl::StrCat(magnitude, " is no bin; they are 0 to ", bins - 1, " (num_magnitude_bins: ", bins, ")"));
  }
  if (setup.errors->size() != before) return nullptr;
  *output = setup.input;
  return std::make_unique<RandAugmentOp>(num_ops, magnitude, bins, style);
}

std::unique_ptr<Op> MakeTrivialAugmentWide(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  const v1::TrivialAugmentWide& spec = setup.spec->trivial_augment_wide();
  const WarpStyle style = ChooseWarpStyle(setup, spec.filter(), spec.fill(), spec.mask_fill());
  const uint32_t bins = ChooseBins(setup, spec.num_magnitude_bins());
  if (setup.errors->size() != before) return nullptr;
  *output = setup.input;
  return std::make_unique<TrivialAugmentWideOp>(bins, style);
}

const OpRegistration kRandAugmentRegistrations[] = {
    {"rand_augment", MakeRandAugment},
    {"trivial_augment_wide", MakeTrivialAugmentWide},
};

}  // namespace
}  // namespace penstock::augment
