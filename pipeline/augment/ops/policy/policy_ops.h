// What the policies (auto_augment, rand_augment, trivial_augment_wide, augmix) choose from: the ops of torchvision's
// transforms.autoaugment and what a magnitude does to each.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OPS_POLICY_POLICY_OPS_H_
#define PENSTOCK_PIPELINE_AUGMENT_OPS_POLICY_POLICY_OPS_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "google/protobuf/repeated_field.h"
#include "pipeline/augment/op/op.h"
#include "pipeline/augment/ops/common/fields.h"

namespace penstock {

enum class PolicyOp : uint8_t {
  kIdentity,
  kShearX,
  kShearY,
  kTranslateX,
  kTranslateY,
  kRotate,
  kBrightness,
  kColor,
  kContrast,
  kSharpness,
  kPosterize,
  kSolarize,
  kAutoContrast,
  kEqualize,
  kInvert,
};

// torchvision's name, such as "ShearX".
std::string_view PolicyOpName(PolicyOp op);

// Whether a magnitude's sign is drawn.
bool IsSigned(PolicyOp op);
// Whether the op has magnitudes at all.
bool HasMagnitude(PolicyOp op);
// Whether it moves pixels.
bool MovesPixels(PolicyOp op);

// How geometric ops sample, and what lies outside.
struct WarpStyle {
  WarpSampling sampling = WarpSampling::kBilinear;
  FillColor fill;
};

// An op as it was drawn: the magnitude has its sign.
struct PolicyChoice {
  PolicyOp op = PolicyOp::kIdentity;
  double magnitude = 0;
};

// torchvision's _apply_op on PIL images:
//   ShearX, ShearY          F.affine with shear atan(magnitude) about {0, 0}: row y moves by magnitude * y pixels
//   TranslateX, TranslateY  by int(magnitude) pixels (cut toward 0), to the right and down
//   Rotate                  magnitude degrees, counter-clockwise, about the center
//   Brightness ... Sharpness  ImageEnhance with the factor 1 + magnitude
//   Posterize               keeps int(magnitude) bits
//   Solarize                inverts values not below magnitude
//   AutoContrast, Equalize, Invert, Identity  no magnitude
// Writes the pixels of one op on `in`, of the same size, to `out`, which does not overlap it.
void MakePolicyPixels(const PolicyChoice& choice, const WarpStyle& style, const ImageView& in, ImageTarget out);

// Whether the op leaves every pixel as it is: Identity, a factor of 1, a move by nothing.
bool ChangesNothing(const PolicyChoice& choice);

// Applies the ops in order; an image that none of them changes stays as it was, decoded or not. Boxes and masks follow
// what moves. In a dry run: the most that so many ops may take.
absl::Status ApplyPolicyOps(std::span<const PolicyChoice> choices, const WarpStyle& style, OpContext* context,
                            LazyImage* image);

// The magnitudes of an op: where they end at the last bin.
enum class PolicySpace : uint8_t {
  kAutoAugment,  // auto_augment and rand_augment
  kTrivialWide,  // trivial_augment_wide
  kAugMix,       // augmix
};

// Magnitude number `bin` of `bins` (0 <= bin < bins, bins >= 2) for an image of this size, before its sign:
//                          kAutoAugment        kTrivialWide   kAugMix
//   ShearX, ShearY         0 ... 0.3           0 ... 0.99     0 ... 0.3
//   TranslateX             0 ... 150/331 w     0 ... 32       0 ... w/3
//   TranslateY             0 ... 150/331 h     0 ... 32       0 ... h/3
//   Rotate                 0 ... 30            0 ... 135      0 ... 30
//   Brightness, Color, Contrast, Sharpness
//                          0 ... 0.9           0 ... 0.99     0 ... 0.9
//   Posterize              8 ... 4             8 ... 2        4 ... 0        rounded, ties to even
//   Solarize               255 ... 0           255 ... 0      255 ... 0
// They are torchvision's to the last bit, which is torch.linspace's float32: number 15 of 31 of 0 ... 32 is 15.999999.
double PolicyMagnitude(PolicySpace space, PolicyOp op, uint32_t bin, uint32_t bins, int width, int height);

// The op at a drawn magnitude: its number, uniform in 0 to below_bin - 1, and then its sign, each way with 1/2; each is
// drawn where the op has it.
PolicyChoice DrawPolicyChoice(PolicySpace space, PolicyOp op, uint32_t below_bin, uint32_t bins, int width, int height,
                              SampleRandom* random);

// What the specs of this family have in common: adds errors to `setup` for an input that is no uint8 image, and a
// filter or a fill that are none.
WarpStyle ChooseWarpStyle(const OpSetup& setup, v1::Filter filter,
                          const google::protobuf::RepeatedField<uint32_t>& fill);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OPS_POLICY_POLICY_OPS_H_
