// Resizing of a box of an image straight into its destination: the crop, a window of the result and the mirror are
// part of the same two passes, and only the source rows and columns that the window needs are looked at.
#ifndef PENSTOCK_PIPELINE_IMAGE_RESIZE_H_
#define PENSTOCK_PIPELINE_IMAGE_RESIZE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "pipeline/image/image_view.h"
#include "pipeline/image/resize_filter.h"

namespace penstock {

enum class ResizeMethod : uint8_t {
  // Pillow's Image.crop(box).resize(size, filter): antialiased, 22-bit weights, two passes with 8 bits in between.
  // Equal to Pillow 13's bytes.
  kPil,
  kOpencvLinear,  // cv::resize INTER_LINEAR of the cropped box
  kOpencvArea,    // cv::resize INTER_AREA of the cropped box
  // tf.image.resize(box, size, BILINEAR) of TensorFlow 2, then tf.cast(tf.round(x), tf.uint8): half-pixel centres,
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

// Upper bound of the memory that Resizer::Run holds for a plan with these extents (whatever its window), in bytes.
size_t ResizeBytes(const ResizePlan& plan, int channels);

// One per thread; keeps its tables and rows from image to image.
class Resizer {
 public:
  Resizer();
  ~Resizer();
  Resizer(const Resizer&) = delete;
  Resizer& operator=(const Resizer&) = delete;

  // Writes the window: window.height rows at `stride` bytes, dense pixels, nothing between them touched. `source`
  // holds the part `at` of the box, which must contain SourceNeeded(plan); 1 or 3 channels. No overlap with `out`.
  // Internal only when OpenCV runs out of memory.
  absl::Status Run(const ResizePlan& plan, const ImageView& source, const Rect& at, uint8_t* out, size_t stride);

  size_t held_bytes() const;
  // Gives the memory back.
  void Clear();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_RESIZE_H_
