// Functions that move an image's pixels and report the move to its boxes and masks (OpContext::Moved). Ops must call
// them in dry runs too.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OPS_COMMON_MOVES_H_
#define PENSTOCK_PIPELINE_AUGMENT_OPS_COMMON_MOVES_H_

#include "absl/status/status.h"
#include "pipeline/augment/op/op.h"
#include "pipeline/augment/ops/common/fields.h"
#include "pipeline/augment/value/own_op_names.h"
#include "pipeline/image/pad.h"
#include "pipeline/image/warp.h"

namespace penstock {

// Crops to `rect`, which must be inside the image. Does nothing in a dry run, which needs an upper bound of the memory.
void CropImage(OpContext* context, LazyImage* image, const Rect& rect);
// Replaces the image with `window`, which may extend beyond it.
absl::Status WindowImage(OpContext* context, LazyImage* image, const Rect& window, PadMode mode, const FillColor& fill);
// Mirrors left to right.
void MirrorImage(OpContext* context, LazyImage* image);
// Replaces the image with one of width x height whose pixels come from `map`.
absl::Status WarpImage(OpContext* context, LazyImage* image, const WarpMap& map, WarpSampling sampling,
                       const FillColor& fill, int width, int height);
// Resizes the image. First realizes pending steps that cannot be combined with the resize.
absl::Status ResizeImage(OpContext* context, LazyImage* image, int width, int height, const ResizeChoice& choice);

// Returns the rectangle of torchvision's center_crop, for a crop that fits: offsets are round((side - crop) / 2), ties
// to even.
Rect CenterRect(int width, int height, int crop_width, int crop_height);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OPS_COMMON_MOVES_H_
