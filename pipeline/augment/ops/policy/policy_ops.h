// The ops of the policies (auto_augment, rand_augment, trivial_augment_wide, augmix), and the effect of a magnitude on
// each. They are the ops of torchvision's transforms.autoaugment.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OPS_POLICY_POLICY_OPS_H_
#define PENSTOCK_PIPELINE_AUGMENT_OPS_POLICY_POLICY_OPS_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "google/protobuf/repeated_field.h"
#include "pipeline/augment/op/op.h"
#include "pipeline/augment/ops/common/fields.h"

namespace penstock::augment {

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

// Returns torchvision's name, such as "ShearX".
std::string_view PolicyOpName(PolicyOp op);

// Returns whether the sign of the magnitude is drawn.
bool IsSigned(PolicyOp op);
// Returns whether the op has magnitudes.
bool HasMagnitude(PolicyOp op);
// Returns whether the op moves pixels.
bool MovesPixels(PolicyOp op);

// The sampling of geometric ops, and their fill for pixels from outside.
struct WarpStyle {
  image::WarpSampling sampling = image::WarpSampling::kBilinear;
  FillColor fill;
};

// A drawn op. The magnitude includes its sign.
struct PolicyChoice {
  PolicyOp op = PolicyOp::kIdentity;
  double magnitude = 0;
};

// Writes the pixels of one op on `in` to `out`, which has the same size and must not overlap `in`. Implements
// torchvision's _apply_op on PIL images:
//   ShearX, ShearY          F.affine with shear atan(magnitude) about {0, 0}: row y moves by magnitude * y pixels
//   TranslateX, TranslateY  by int(magnitude) pixels (truncated toward 0), to the right and down
//   Rotate                  magnitude degrees, counter-clockwise, about the center
//   Brightness ... Sharpness  ImageEnhance with the factor 1 + magnitude
//   Posterize               keeps int(magnitude) bits
//   Solarize                inverts values that are at least magnitude
//   AutoContrast, Equalize, Invert, Identity  no magnitude
void MakePolicyPixels(const PolicyChoice& choice, const WarpStyle& style, const image::ImageView& in,
                      image::ImageTarget out);

// Returns whether the op leaves every pixel unchanged: Identity, a factor of 1, a move by zero, or Posterize to at
// least 8 bits.
bool ChangesNothing(const PolicyChoice& choice);

// Applies the ops in order. If none of them changes the image, it stays as it was, decoded or not. Boxes and masks
// follow the moves. In a dry run, counts the most memory that this number of ops can need.
absl::Status ApplyPolicyOps(std::span<const PolicyChoice> choices, const WarpStyle& style, OpContext* context,
                            LazyImage* image);

// The range of each op's magnitudes (PolicyMagnitude).
enum class PolicySpace : uint8_t {
  kAutoAugment,  // auto_augment and rand_augment
  kTrivialWide,  // trivial_augment_wide
  kAugMix,       // augmix
};

// Returns magnitude number `bin` of `bins` (0 <= bin < bins, bins >= 2) for an image of this size, without its sign:
//                          kAutoAugment        kTrivialWide   kAugMix
//   ShearX, ShearY         0 ... 0.3           0 ... 0.99     0 ... 0.3
//   TranslateX             0 ... 150/331 w     0 ... 32       0 ... w/3
//   TranslateY             0 ... 150/331 h     0 ... 32       0 ... h/3
//   Rotate                 0 ... 30            0 ... 135      0 ... 30
//   Brightness, Color, Contrast, Sharpness
//                          0 ... 0.9           0 ... 0.99     0 ... 0.9
//   Posterize              8 ... 4             8 ... 2        4 ... 0        rounded, ties to even
//   Solarize               255 ... 0           255 ... 0      255 ... 0
// For Posterize, the distance to the first value is rounded. All magnitudes equal torchvision's to the last bit.
// torchvision computes them with torch.linspace in float32, so number 15 of 31 from 0 to 32 is 15.999999.
double PolicyMagnitude(PolicySpace space, PolicyOp op, uint32_t bin, uint32_t bins, int width, int height);

// Returns the op at a drawn magnitude. If the op has magnitudes, draws the number, uniform in 0 to below_bin - 1. If
// the op is signed, then draws the sign, with probability 1/2.
PolicyChoice DrawPolicyChoice(PolicySpace space, PolicyOp op, uint32_t below_bin, uint32_t bins, int width, int height,
                              SampleRandom* random);

// Reads the fields that the ops of this family share. Adds errors to `setup` for an input that is not a uint8 image,
// and for an invalid filter, fill or mask_fill.
WarpStyle ChooseWarpStyle(const OpSetup& setup, v1::Filter filter,
                          const google::protobuf::RepeatedField<uint32_t>& fill,
                          const google::protobuf::RepeatedField<uint32_t>& mask_fill);

}  // namespace penstock::augment

#endif  // PENSTOCK_PIPELINE_AUGMENT_OPS_POLICY_POLICY_OPS_H_
