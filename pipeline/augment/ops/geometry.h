// What the ops that move pixels share.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OPS_GEOMETRY_H_
#define PENSTOCK_PIPELINE_AUGMENT_OPS_GEOMETRY_H_

#include "pipeline/augment/op.h"

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

// Resizes, realising first what the resize cannot be joined with.
absl::Status ResizeImage(OpContext* context, LazyImage* image, int width, int height, const ResizeChoice& choice);

// The rectangle that RandomResizedCrop cuts out of an image: torchvision's
// transforms.RandomResizedCrop.get_params. Ten tries at an area uniform in [scale_min, scale_max] of the image's and
// an aspect (width / height) log-uniform in [ratio_min, ratio_max]; when none fits, the largest centred rectangle
// with the nearest aspect. Uses our own log and exp, so that the draw is the same on every machine.
struct CropDraw {
  double scale_min = 0.08, scale_max = 1.0;
  double ratio_min = 3.0 / 4.0, ratio_max = 4.0 / 3.0;
};
Rect DrawResizedCrop(const CropDraw& draw, int width, int height, SampleRandom* random);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OPS_GEOMETRY_H_
