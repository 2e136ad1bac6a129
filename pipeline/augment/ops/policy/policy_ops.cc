#include "pipeline/augment/ops/policy/policy_ops.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/status_macros.h"
#include "pipeline/augment/ops/common/moves.h"
#include "pipeline/augment/ops/common/pixel_op.h"

namespace penstock::augment {
namespace {

enum class Kind : uint8_t { kNothing, kMove, kEnhance, kOther };

struct Properties {
  std::string_view name;
  Kind kind;
  bool has_magnitude;
};

// In the order of PolicyOp.
constexpr Properties kProperties[] = {
    {"Identity", Kind::kNothing, false},   {"ShearX", Kind::kMove, true},     {"ShearY", Kind::kMove, true},
    {"TranslateX", Kind::kMove, true},     {"TranslateY", Kind::kMove, true}, {"Rotate", Kind::kMove, true},
    {"Brightness", Kind::kEnhance, true},  {"Color", Kind::kEnhance, true},   {"Contrast", Kind::kEnhance, true},
    {"Sharpness", Kind::kEnhance, true},   {"Posterize", Kind::kOther, true}, {"Solarize", Kind::kOther, true},
    {"AutoContrast", Kind::kOther, false}, {"Equalize", Kind::kOther, false}, {"Invert", Kind::kOther, false},
};

const Properties& Of(PolicyOp op) { return kProperties[static_cast<size_t>(op)]; }

image::WarpMap MoveMap(const PolicyChoice& choice, int width, int height) {
  const double magnitude = choice.magnitude;
  switch (choice.op) {
    case PolicyOp::kShearX:
      return image::ShearMap(magnitude, 0);
    case PolicyOp::kShearY:
      return image::ShearMap(0, magnitude);
    case PolicyOp::kTranslateX:
      return image::AffineMap({.translate_x = std::trunc(magnitude)}, width, height);
    case PolicyOp::kTranslateY:
      return image::AffineMap({.translate_y = std::trunc(magnitude)}, width, height);
    default:
      return image::RotateMap(magnitude, width, height);
  }
}

// Returns the smallest inverted value. Pillow compares with a float.
int SolarizeThreshold(double magnitude) { return static_cast<int>(std::clamp(std::ceil(magnitude), 0.0, 256.0)); }

// Returns the first and the last magnitude of a space.
std::pair<double, double> Range(PolicySpace space, PolicyOp op, int width, int height) {
  const bool wide = space == PolicySpace::kTrivialWide;
  const double side = op == PolicyOp::kTranslateX ? width : height;
  switch (op) {
    case PolicyOp::kShearX:
    case PolicyOp::kShearY:
      return {0, wide ? 0.99 : 0.3};
    case PolicyOp::kTranslateX:
    case PolicyOp::kTranslateY:
      return {0, wide ? 32.0 : space == PolicySpace::kAugMix ? side / 3.0 : 150.0 / 331.0 * side};
    case PolicyOp::kRotate:
      return {0, wide ? 135.0 : 30.0};
    case PolicyOp::kBrightness:
    case PolicyOp::kColor:
    case PolicyOp::kContrast:
    case PolicyOp::kSharpness:
      return {0, wide ? 0.99 : 0.9};
    case PolicyOp::kPosterize:
      return space == PolicySpace::kAugMix ? std::pair(4.0, 0.0) : std::pair(8.0, wide ? 2.0 : 4.0);
    case PolicyOp::kSolarize:
      return {255, 0};
    default:
      return {0, 0};
  }
}

// torch.linspace: from both ends to the middle in float32, with product and sum rounded once, like torch's loops on
// every CPU with fused multiply-add.
float Linspace(float first, float last, uint32_t bin, uint32_t bins) {
  const float step = (last - first) / static_cast<float>(bins - 1);
  if (bin < bins / 2) return std::fma(step, static_cast<float>(bin), first);
  return std::fma(-step, static_cast<float>(bins - 1 - bin), last);
}

}  // namespace

std::string_view PolicyOpName(PolicyOp op) { return Of(op).name; }
bool IsSigned(PolicyOp op) { return Of(op).kind == Kind::kMove || Of(op).kind == Kind::kEnhance; }
bool HasMagnitude(PolicyOp op) { return Of(op).has_magnitude; }
bool MovesPixels(PolicyOp op) { return Of(op).kind == Kind::kMove; }

double PolicyMagnitude(PolicySpace space, PolicyOp op, uint32_t bin, uint32_t bins, int width, int height) {
  const auto [first, last] = Range(space, op, width, height);
  // For Posterize, torchvision rounds the distance, ties to even, not the number of bits.
  if (op == PolicyOp::kPosterize) return first - std::nearbyint((first - last) * bin / (bins - 1));
  return static_cast<double>(Linspace(static_cast<float>(first), static_cast<float>(last), bin, bins));
}

PolicyChoice DrawPolicyChoice(PolicySpace space, PolicyOp op, uint32_t below_bin, uint32_t bins, int width, int height,
                              SampleRandom* random) {
  PolicyChoice choice{op, 0};
  if (!HasMagnitude(op)) return choice;
  const uint32_t bin = random->Below(below_bin);
  choice.magnitude = PolicyMagnitude(space, op, bin, bins, width, height);
  if (IsSigned(op) && random->Below(2) == 1) choice.magnitude = -choice.magnitude;
  return choice;
}

bool ChangesNothing(const PolicyChoice& choice) {
  switch (choice.op) {
    case PolicyOp::kIdentity:
      return true;
    case PolicyOp::kTranslateX:
    case PolicyOp::kTranslateY:
      return std::trunc(choice.magnitude) == 0;
    case PolicyOp::kPosterize:
      return choice.magnitude >= 8;
    default:
      return IsSigned(choice.op) && choice.magnitude == 0;
  }
}

void MakePolicyPixels(const PolicyChoice& choice, const WarpStyle& style, const image::ImageView& in,
                      image::ImageTarget out) {
  // torchvision adds in double, but Pillow's blend takes a float.
  const float factor = static_cast<float>(1.0 + choice.magnitude);
  switch (choice.op) {
    case PolicyOp::kIdentity:
      return image::AdjustBrightness(in, 1.0f, out);
    case PolicyOp::kShearX:
    case PolicyOp::kShearY:
    case PolicyOp::kTranslateX:
    case PolicyOp::kTranslateY:
    case PolicyOp::kRotate:
      return image::Warp(in, MoveMap(choice, in.width, in.height), style.sampling, style.fill.values, in.width,
                         in.height, out);
    case PolicyOp::kBrightness:
      return image::AdjustBrightness(in, factor, out);
    case PolicyOp::kColor:
      return image::AdjustSaturation(in, factor, out);
    case PolicyOp::kContrast:
      return image::AdjustContrast(in, factor, out);
    case PolicyOp::kSharpness:
      return image::AdjustSharpness(in, factor, out);
    case PolicyOp::kPosterize:
      return image::Posterize(in, static_cast<int>(choice.magnitude), out);
    case PolicyOp::kSolarize:
      return image::Solarize(in, SolarizeThreshold(choice.magnitude), out);
    case PolicyOp::kAutoContrast:
      return image::Autocontrast(in, out);
    case PolicyOp::kEqualize:
      return image::Equalize(in, out);
    case PolicyOp::kInvert:
      return image::Invert(in, out);
  }
}

absl::Status ApplyPolicyOps(std::span<const PolicyChoice> choices, const WarpStyle& style, OpContext* context,
                            LazyImage* image) {
  // The last op that changes the image writes to the image's final memory.
  size_t end = choices.size();
  while (end > 0 && !context->dry() && ChangesNothing(choices[end - 1])) --end;
  for (size_t i = 0; i < end; ++i) {
    const PolicyChoice& choice = choices[i];
    if (!context->dry() && ChangesNothing(choice)) continue;
    OpContext step = *context;
    if (i + 1 < end) step.target = nullptr;
    const int width = image->width(), height = image->height();
    // A move needs the most memory, because its masks move too.
    if (context->dry() || MovesPixels(choice.op)) {
      PS_RETURN_IF_ERROR(WarpImage(&step, image, context->dry() ? image::WarpMap() : MoveMap(choice, width, height),
                                   style.sampling, style.fill, width, height));
    } else {
      PS_RETURN_IF_ERROR(FilterPixels(&step, image, [&](const image::ImageView& in, image::ImageTarget out) {
        MakePolicyPixels(choice, style, in, out);
      }));
    }
  }
  return absl::OkStatus();
}

WarpStyle ChooseWarpStyle(const OpSetup& setup, v1::Filter filter,
                          const google::protobuf::RepeatedField<uint32_t>& fill,
                          const google::protobuf::RepeatedField<uint32_t>& mask_fill) {
  CheckImageInput(setup);
  return {ChooseSampling(setup, filter), ChooseFill(setup, fill, mask_fill)};
}

}  // namespace penstock::augment
