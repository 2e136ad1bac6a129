// What random_resized_crop draws.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OPS_GEOMETRY_RESIZED_CROP_H_
#define PENSTOCK_PIPELINE_AUGMENT_OPS_GEOMETRY_RESIZED_CROP_H_

#include "base/philox.h"
#include "pipeline/image/image_view.h"

namespace penstock {

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

#endif  // PENSTOCK_PIPELINE_AUGMENT_OPS_GEOMETRY_RESIZED_CROP_H_
