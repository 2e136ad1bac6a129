// What moves an image's pixels and tells its boxes and masks (OpContext::Moved). To be called in dry runs too.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OPS_COMMON_MOVES_H_
#define PENSTOCK_PIPELINE_AUGMENT_OPS_COMMON_MOVES_H_

#include "absl/status/status.h"
#include "pipeline/augment/op/op.h"
#include "pipeline/augment/ops/common/fields.h"
#include "pipeline/image/pad.h"
#include "pipeline/image/warp.h"

namespace penstock {

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

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OPS_COMMON_MOVES_H_
