// Checked fields that many ops' messages share, converted to the types of pipeline/image. The functions add mistakes to
// the setup's errors; the returned value is then unspecified.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OPS_COMMON_FIELDS_H_
#define PENSTOCK_PIPELINE_AUGMENT_OPS_COMMON_FIELDS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "google/protobuf/repeated_field.h"
#include "pipeline/augment/op/op.h"
#include "pipeline/augment/ops/common/draws.h"
#include "pipeline/augment/value/own_op_names.h"
#include "pipeline/image/pad.h"
#include "pipeline/image/warp.h"

namespace penstock {

// The maximum side of an op's result.
constexpr uint32_t kMaxOutputSide = 65500;

struct ResizeChoice {
  ResizeMethod method = ResizeMethod::kPil;
  ResizeFilter filter = ResizeFilter::kBilinear;
};

// Converts the schema's enums to those of the resizer. Adds an error for invalid combinations.
ResizeChoice ChooseResize(const OpSetup& setup, v1::ResizeMethod method, v1::Filter filter, bool no_antialias = false);

// Adds an error unless 1 <= value <= kMaxOutputSide.
void CheckSide(const OpSetup& setup, std::string_view field, uint32_t value);

// The `fill` of an op's message: one value for all channels or one per channel; 0 by default. ChooseFill adds an error
// for other counts and for values over 255.
struct FillColor {
  uint8_t values[3] = {0, 0, 0};
  std::vector<uint16_t> masks;  // the class for each mask; if empty, that of the annotations
};
FillColor ChooseFill(const OpSetup& setup, const google::protobuf::RepeatedField<uint32_t>& fill);
// Like ChooseFill above, for ops that move pixels, with their `mask_fill`. Adds an error if ReadMaskFill rejects it.
FillColor ChooseFill(const OpSetup& setup, const google::protobuf::RepeatedField<uint32_t>& fill,
                     const google::protobuf::RepeatedField<uint32_t>& mask_fill);
// Returns the sampling of a warp. Adds an error unless it is BILINEAR or NEAREST.
WarpSampling ChooseSampling(const OpSetup& setup, v1::Filter filter);
PadMode ChoosePadMode(const OpSetup& setup, v1::PadMode mode);
// Returns the value of a `probability` field, or `otherwise` if it is not set. Adds an error unless it is from 0 to 1.
double ChooseProbability(const OpSetup& setup, bool said, float probability, double otherwise);
// Adds an error unless the input is an image.
void CheckImageInput(const OpSetup& setup);

// A range from which a number is drawn uniformly. A single value takes no draw.
struct FactorRange {
  double low = 1, high = 1;
  bool IsRandom() const { return low < high; }
  double Draw(SampleRandom* random) const { return DrawUniform(low, high, random); }
};

// Returns the range from `low` to `high`, which are values of the named fields. Adds errors unless at_least <= low <=
// high <= at_most.
FactorRange CheckRange(const OpSetup& setup, double low, double high, double at_least, double at_most,
                       std::string_view low_field = "min", std::string_view high_field = "max");
// Returns the range of a message's min and max fields, which are 1 if not set. Adds errors like CheckRange.
template <typename Spec>
FactorRange ChooseFactors(const OpSetup& setup, const Spec& spec, double at_least, double at_most) {
  return CheckRange(setup, spec.has_min() ? static_cast<double>(spec.min()) : 1.0,
                    spec.has_max() ? static_cast<double>(spec.max()) : 1.0, at_least, at_most);
}

// Returns a message's probability, or `otherwise` if it is not set. Adds an error unless it is from 0 to 1.
template <typename Spec>
double ChooseChance(const OpSetup& setup, const Spec& spec, double otherwise = 1) {
  return ChooseProbability(setup, spec.has_probability(), spec.probability(), otherwise);
}

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OPS_COMMON_FIELDS_H_
