// Resizing of a box of an image straight into its destination: the crop, a window of the result and the mirror are
// part of the same two passes, and only the source rows and columns that the window needs are looked at.
#ifndef PENSTOCK_PIPELINE_IMAGE_RESIZE_RESIZE_H_
#define PENSTOCK_PIPELINE_IMAGE_RESIZE_RESIZE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "pipeline/image/image_sink.h"
#include "pipeline/image/image_view.h"
#include "pipeline/image/resize/resize_plan.h"

namespace penstock {

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

  // The same for a source that comes row by row, of which only a few rows are kept. Of plans that TakesRows only. Give
  // the rows of SourceNeeded(plan) to what is returned, which is the resizer's own and serves until its next Start, Run
  // or Clear; the window is written by the time the last row was taken.
  ImageSink* Start(const ResizePlan& plan, int channels, uint8_t* out, size_t stride);

  size_t held_bytes() const;
  // Gives the memory back.
  void Clear();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_RESIZE_RESIZE_H_
