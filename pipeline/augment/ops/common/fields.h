// Fields that many ops' messages have, checked, in the terms of pipeline/image. What is wrong is added to the setup's
// errors; the value that is returned then is of no use.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OPS_COMMON_FIELDS_H_
#define PENSTOCK_PIPELINE_AUGMENT_OPS_COMMON_FIELDS_H_

#include <cstdint>
#include <string_view>

#include "google/protobuf/repeated_field.h"
#include "pipeline/augment/op/op.h"
#include "pipeline/augment/ops/common/draws.h"
#include "pipeline/image/pad.h"
#include "pipeline/image/warp.h"

namespace penstock {

// Sides that an op may make.
constexpr uint32_t kMaxOutputSide = 65500;

struct ResizeChoice {
  ResizeMethod method = ResizeMethod::kPil;
  ResizeFilter filter = ResizeFilter::kBilinear;
};

// The schema's enums as the resizer's. Adds an error for what does not go together.
ResizeChoice ChooseResize(const OpSetup& setup, v1::ResizeMethod method, v1::Filter filter, bool no_antialias = false);

// Adds an error unless 1 <= value <= kMaxOutputSide.
void CheckSide(const OpSetup& setup, std::string_view field, uint32_t value);

// `fill` of a schema message for an image of `channels`: one value for all, or one for each; 0 where none is said.
// Adds an error for other counts, and values over 255.
struct FillColor {
  uint8_t values[3] = {0, 0, 0};
};
FillColor ChooseFill(const OpSetup& setup, const google::protobuf::RepeatedField<uint32_t>& fill);
// How a warp samples. Adds an error unless BILINEAR or NEAREST.
WarpSampling ChooseSampling(const OpSetup& setup, v1::Filter filter);
PadMode ChoosePadMode(const OpSetup& setup, v1::PadMode mode);
// A `probability` field. Adds an error unless it is from 0 to 1.
double ChooseProbability(const OpSetup& setup, bool said, float probability, double otherwise);
// Adds an error unless the input is an image.
void CheckImageInput(const OpSetup& setup);

// A range from which a number is drawn uniformly; one value takes no draw.
struct FactorRange {
  double low = 1, high = 1;
  bool IsRandom() const { return low < high; }
  double Draw(SampleRandom* random) const { return DrawUniform(low, high, random); }
};

// A message's min and max, or fields of other names. Adds errors unless at_least <= min <= max <= at_most.
FactorRange CheckRange(const OpSetup& setup, double low, double high, double at_least, double at_most,
                       std::string_view low_field = "min", std::string_view high_field = "max");
// As above, where the schema says 1 for what is left out.
template <typename Spec>
FactorRange ChooseFactors(const OpSetup& setup, const Spec& spec, double at_least, double at_most) {
  return CheckRange(setup, spec.has_min() ? static_cast<double>(spec.min()) : 1.0,
                    spec.has_max() ? static_cast<double>(spec.max()) : 1.0, at_least, at_most);
}

// A message's probability, 1 unless said. Adds an error unless it is from 0 to 1.
template <typename Spec>
double ChooseChance(const OpSetup& setup, const Spec& spec, double otherwise = 1) {
  return ChooseProbability(setup, spec.has_probability(), spec.probability(), otherwise);
}

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OPS_COMMON_FIELDS_H_
