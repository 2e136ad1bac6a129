// cv::resize INTER_AREA for sizes that shrink by a fraction, with equal bits on all CPUs. OpenCV's library for CPUs
// with a fused multiply-add may round its sums differently.
#ifndef PENSTOCK_PIPELINE_IMAGE_RESIZE_AREA_RESIZE_H_
#define PENSTOCK_PIPELINE_IMAGE_RESIZE_AREA_RESIZE_H_

#include <cstddef>
#include <cstdint>

#include "pipeline/image/image_view.h"

namespace penstock::image {

// Returns whether ResizeArea applies: both sides shrink, or stay, and not both by a whole factor. OpenCV computes the
// other cases with integers.
bool ShrinksByFraction(int in_width, int in_height, int out_width, int out_height);

// Writes the resized `in`, rows of dense pixels, `stride` bytes from one row to the next. Each pixel is the mean of the
// pixels below its area, weighted by the share of each, as in OpenCV 4.6 (resizeArea_ in its modules/imgproc). Requires
// ShrinksByFraction and 1 to 4 channels.
void ResizeArea(const ImageView& in, int out_width, int out_height, uint8_t* out, size_t stride);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_RESIZE_AREA_RESIZE_H_
