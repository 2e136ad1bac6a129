// What the ops that move pixels share.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OPS_GEOMETRY_H_
#define PENSTOCK_PIPELINE_AUGMENT_OPS_GEOMETRY_H_

#include "google/protobuf/repeated_field.h"
#include "pipeline/augment/op.h"
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

// A draw where there is something to draw: a probability of 0 or 1, or a range of one value, takes none.
bool DrawChance(double probability, SampleRandom* random);
double DrawUniform(double low, double high, SampleRandom* random);
int DrawInteger(int low, int high, SampleRandom* random);  // low and high included

// What follows moves the image's pixels and tells its boxes and masks (OpContext::Moved). They are to be called in dry
// runs too.

// Keeps `rect`, which must be inside; not in a dry run, where less is no upper bound.
void CropImage(OpContext* context, LazyImage* image, const Rect& rect);
// Leaves `window`, which may reach beyond the image.
absl::Status WindowImage(OpContext* context, LazyImage* image, const Rect& window, PadMode mode, const FillColor& fill);
// Mirrors left to right.
void MirrorImage(OpContext* context, LazyImage* image);
// `map` gives the pixels of an image of width x height.
absl::Status WarpImage(OpContext* context, LazyImage* image, const WarpMap& map, WarpSampling sampling,
                       const FillColor& fill, int width, int height);
// Resizes, realizing first what the resize cannot be joined with.
absl::Status ResizeImage(OpContext* context, LazyImage* image, int width, int height, const ResizeChoice& choice);

// torchvision's center_crop of a size that fits: offsets are round((side - crop) / 2), ties to even.
Rect CenterRect(int width, int height, int crop_width, int crop_height);

// The rectangle that RandomResizedCrop cuts out of an image: torchvision's
// transforms.RandomResizedCrop.get_params. Ten tries at an area uniform in [scale_min, scale_max] of the image's and
// an aspect (width / height) log-uniform in [ratio_min, ratio_max]; when none fits, the largest centered rectangle
// with the nearest aspect. Uses our own log and exp, so that the draw is the same on every machine.
struct CropDraw {
  double scale_min = 0.08, scale_max = 1.0;
  double ratio_min = 3.0 / 4.0, ratio_max = 4.0 / 3.0;
};
Rect DrawResizedCrop(const CropDraw& draw, int width, int height, SampleRandom* random);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OPS_GEOMETRY_H_
