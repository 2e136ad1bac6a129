// augmix: Hendrycks et al., "AugMix: A Simple Data Processing Method to Improve Robustness and Uncertainty" (ICLR
// 2020), like torchvision's transforms.AugMix:
//   mix = m0 * image + m1 * sum_i w_i * chain_i(image),   (m0, m1) ~ Dirichlet(alpha, alpha), w ~ Dirichlet(alpha, ...)
// A chain has chain_depth ops (or 1 to 3, uniform). Each op is uniform over 9 or 13 ops, and its magnitude is uniform
// in the first `severity` of 10 bins. As in torchvision, sums are float32, each product and sum is rounded
// separately, and the result is truncated to an integer. Draws, in this order: two gammas for m, one for each w; for
// each chain its depth (unless chain_depth sets it), then for each op the op, the magnitude's bin and the sign, if the
// op has them.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/distributions.h"
#include "base/status_macros.h"
#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/common/pixel_op.h"
#include "pipeline/augment/ops/policy/policy_ops.h"

namespace penstock::augment {
namespace {

using enum PolicyOp;
// In torchvision's order. no_color_ops excludes the last four.
constexpr PolicyOp kAugMixOps[] = {kShearX,       kShearY,   kTranslateX, kTranslateY, kRotate,   kPosterize, kSolarize,
                                   kAutoContrast, kEqualize, kBrightness, kColor,      kContrast, kSharpness};
constexpr uint32_t kColorOps = 4, kAugMixBins = 10, kMaxWidth = 16, kMaxDepth = 16;

struct AugMixSpec {
  uint32_t severity = 3, width = 3, depth = 0;
  double alpha = 1;
  uint32_t ops = std::size(kAugMixOps);
  WarpStyle style;
};

// Returns a Dirichlet draw with one alpha for all parts: normalized gammas. If all gammas are 0 after rounding, the
// parts are equal.
std::vector<double> DrawDirichlet(double alpha, size_t parts, SampleRandom* random) {
  std::vector<double> draw(parts);
  double sum = 0;
  for (double& part : draw) sum += part = DrawGamma(alpha, random);
  for (double& part : draw) part = sum > 0 ? part / sum : 1.0 / static_cast<double>(parts);
  return draw;
}

void AddWeighted(const image::ImageView& in, float weight, float* mix) {
  for (int y = 0; y < in.height; ++y) {
    const uint8_t* row = in.row(y);
    for (size_t i = 0; i < in.row_bytes(); ++i) *mix++ += weight * static_cast<float>(row[i]);
  }
}

class AugMixOp final : public Op {
 public:
  explicit AugMixOp(const AugMixSpec& spec) : spec_(spec) {}

  bool IsRandom() const override { return true; }

  absl::Status Apply(OpContext* context, Value* value) const override {
    LazyImage* image = &value->image;
    PS_RETURN_IF_ERROR(context->Realize(image));
    const size_t row = static_cast<size_t>(image->width()) * static_cast<size_t>(image->channels());
    const size_t bytes = row * static_cast<size_t>(image->height());
    // Two buffers that a chain alternates between, and the sum.
    const size_t scratch = 2 * (bytes + Arena::kSlack) + bytes * sizeof(float) + Arena::kSlack + 4 * row;
    return ReplacePixels(context, image, image->width(), image->height(), scratch,
                         [&](const image::ImageView& in, image::ImageTarget out) {
                           Arena& arena = context->tools->arena;
                           uint8_t* const buffers[2] = {arena.Acquire(bytes), arena.Acquire(bytes)};
                           float* const mix = reinterpret_cast<float*>(arena.Acquire(bytes * sizeof(float)));
                           std::fill_n(mix, bytes, 0.0f);
                           WarpStyle style = spec_.style;
                           style.sampling = context->tools->Sampling(style.sampling);
                           Mix(in, style, buffers, &context->random, mix);
                           std::transform(mix, mix + bytes, out.data, [](float sum) {
                             return static_cast<uint8_t>(std::clamp(sum, 0.0f, 255.0f));
                           });
                         });
  }

 private:
  void Mix(const image::ImageView& in, const WarpStyle& style, uint8_t* const buffers[2], SampleRandom* random,
           float* mix) const {
    const std::vector<double> share = DrawDirichlet(spec_.alpha, 2, random);
    const std::vector<double> weights = DrawDirichlet(spec_.alpha, spec_.width, random);
    AddWeighted(in, static_cast<float>(share[0]), mix);
    for (const double weight : weights) {
      const uint32_t depth = spec_.depth > 0 ? spec_.depth : 1 + random->Below(3);
      image::ImageView chain = in;
      for (uint32_t i = 0; i < depth; ++i) {
        const PolicyOp op = kAugMixOps[random->Below(spec_.ops)];
        const PolicyChoice choice =
            DrawPolicyChoice(PolicySpace::kAugMix, op, spec_.severity, kAugMixBins, in.width, in.height, random);
        if (ChangesNothing(choice)) continue;
        uint8_t* const to = chain.data == buffers[0] ? buffers[1] : buffers[0];
        MakePolicyPixels(choice, style, chain, {to, in.row_bytes()});
        chain = {to, in.width, in.height, in.channels, in.row_bytes()};
      }
      AddWeighted(chain, static_cast<float>(weight * share[1]), mix);
    }
  }

  const AugMixSpec spec_;
};

std::unique_ptr<Op> MakeAugMix(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  const v1::AugMix& from = setup.spec->augmix();
  AugMixSpec spec;
  spec.style = ChooseWarpStyle(setup, from.filter(), from.fill(), {});
  if (from.severity() > 0) spec.severity = from.severity();
  if (from.mixture_width() > 0) spec.width = from.mixture_width();
  spec.depth = from.chain_depth();
  if (from.alpha() != 0) spec.alpha = static_cast<double>(from.alpha());
  if (from.no_color_ops()) spec.ops -= kColorOps;
  if (spec.severity > kAugMixBins) setup.Error("severity", absl::StrCat("must be from 1 to ", kAugMixBins));
  if (spec.width > kMaxWidth) setup.Error("mixture_width", absl::StrCat("must be from 1 to ", kMaxWidth));
  if (spec.depth > kMaxDepth)
    setup.Error("chain_depth", absl::StrCat("must be from 1 to ", kMaxDepth, ", or left out"));
  if (!(spec.alpha > 0 && spec.alpha <= 1e6)) setup.Error("alpha", "must be above 0, and at most 1e6");
  if (setup.errors->size() != before) return nullptr;
  *output = setup.input;
  return std::make_unique<AugMixOp>(spec);
}

const OpRegistration kAugMixRegistration{"augmix", MakeAugMix};

}  // namespace
}  // namespace penstock::augment
