// The draws of random_resized_crop.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OPS_GEOMETRY_RESIZED_CROP_H_
#define PENSTOCK_PIPELINE_AUGMENT_OPS_GEOMETRY_RESIZED_CROP_H_

#include "base/philox.h"
#include "pipeline/image/image_view.h"

namespace penstock::augment {

// The parameters of a random crop: torchvision's transforms.RandomResizedCrop.get_params. DrawResizedCrop makes up to
// ten tries of an area uniform in [scale_min, scale_max] of the image's area and an aspect (width / height) log-uniform
// in [ratio_min, ratio_max]. If none fits, it returns the largest centered rectangle with the nearest aspect. It uses
// portable log and exp, so that the draw is the same on every machine.
struct CropDraw {
  double scale_min = 0.08, scale_max = 1.0;
  double ratio_min = 3.0 / 4.0, ratio_max = 4.0 / 3.0;
};
image::Rect DrawResizedCrop(const CropDraw& draw, int width, int height, SampleRandom* random);

}  // namespace penstock::augment

#endif  // PENSTOCK_PIPELINE_AUGMENT_OPS_GEOMETRY_RESIZED_CROP_H_
