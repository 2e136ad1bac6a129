// The parameters of a resize: the box, its new size, and the window of the result that is stored.
#ifndef PENSTOCK_PIPELINE_IMAGE_RESIZE_RESIZE_PLAN_H_
#define PENSTOCK_PIPELINE_IMAGE_RESIZE_RESIZE_PLAN_H_

#include <cstdint>

#include "pipeline/image/image_view.h"
#include "pipeline/image/resize/resize_filter.h"

namespace penstock::image {

enum class ResizeMethod : uint8_t {
  // Pillow's Image.crop(box).resize(size, filter): antialiased, 22-bit weights, two passes with 8 bits in between. The
  // bytes equal those of Pillow 13.
  kPil,
  kOpencvLinear,  // cv::resize INTER_LINEAR of the cropped box
  kOpencvArea,    // cv::resize INTER_AREA of the cropped box
  // tf.image.resize(box, size, BILINEAR) of TensorFlow 2, then tf.cast(tf.round(x), tf.uint8): half-pixel centers,
  // float32 between the passes, ties to even. tf_resize.h computes the float values.
  kTfBilinear,           // antialias=False
  kTfBilinearAntialias,  // antialias=True
};

// A resize. All sizes are in pixels.
struct ResizePlan {
  int box_width = 0, box_height = 0;  // the input; pixels outside it have no effect
  int out_width = 0, out_height = 0;  // the new size
  Rect window = {};                   // the part of the result that is stored; inside the new size
  bool flip = false;                  // whether to mirror the window left to right
  ResizeMethod method = ResizeMethod::kPil;
  ResizeFilter filter = ResizeFilter::kBilinear;  // kPil only
};

// Returns the part of the box that a resize needs for the window. It is the whole box for OpenCV's methods and
// kNearest.
Rect SourceNeeded(const ResizePlan& plan);

// Returns whether the method accepts its source row by row (pil_rows.h). The others need all of it at once.
bool TakesRows(const ResizePlan& plan);

inline bool IsTf(const ResizePlan& plan) {
  return plan.method == ResizeMethod::kTfBilinear || plan.method == ResizeMethod::kTfBilinearAntialias;
}
inline bool TfAntialias(const ResizePlan& plan) { return plan.method == ResizeMethod::kTfBilinearAntialias; }

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_RESIZE_RESIZE_PLAN_H_
