// What a resize is to do: the box, the size it becomes, the window of that which is stored.
#ifndef PENSTOCK_PIPELINE_IMAGE_RESIZE_RESIZE_PLAN_H_
#define PENSTOCK_PIPELINE_IMAGE_RESIZE_RESIZE_PLAN_H_

#include <cstdint>

#include "pipeline/image/image_view.h"
#include "pipeline/image/resize/resize_filter.h"

namespace penstock {

enum class ResizeMethod : uint8_t {
  // Pillow's Image.crop(box).resize(size, filter): antialiased, 22-bit weights, two passes with 8 bits in between.
  // Equal to Pillow 13's bytes.
  kPil,
  kOpencvLinear,  // cv::resize INTER_LINEAR of the cropped box
  kOpencvArea,    // cv::resize INTER_AREA of the cropped box
  // tf.image.resize(box, size, BILINEAR) of TensorFlow 2, then tf.cast(tf.round(x), tf.uint8): half-pixel centers,
  // float32
  // between the passes, ties to even. tf_resize.h has the float values.
  kTfBilinear,           // antialias=False
  kTfBilinearAntialias,  // antialias=True
};

// What is wanted. All sizes in pixels.
struct ResizePlan {
  int box_width = 0, box_height = 0;  // what is resized; nothing outside it counts
  int out_width = 0, out_height = 0;  // the size it becomes
  Rect window = {};                   // the part of that which is stored; inside the size above
  bool flip = false;                  // the window is stored mirrored left to right
  ResizeMethod method = ResizeMethod::kPil;
  ResizeFilter filter = ResizeFilter::kBilinear;  // kPil only
};

// The part of the box that the window depends on.
Rect SourceNeeded(const ResizePlan& plan);

// Whether the method takes its source row by row (pil_rows.h); the others need all of it at once.
bool TakesRows(const ResizePlan& plan);

inline bool IsTf(const ResizePlan& plan) {
  return plan.method == ResizeMethod::kTfBilinear || plan.method == ResizeMethod::kTfBilinearAntialias;
}
inline bool TfAntialias(const ResizePlan& plan) { return plan.method == ResizeMethod::kTfBilinearAntialias; }

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_RESIZE_RESIZE_PLAN_H_
