// Resizes a box of an image directly into its destination. The crop, a window of the result and the mirror are part of
// the same two passes. Only the source rows and columns that the window needs are read.
#ifndef PENSTOCK_PIPELINE_IMAGE_RESIZE_RESIZE_H_
#define PENSTOCK_PIPELINE_IMAGE_RESIZE_RESIZE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "pipeline/image/image_sink.h"
#include "pipeline/image/image_view.h"
#include "pipeline/image/resize/resize_plan.h"

namespace penstock::image {

// Returns an upper bound of the bytes that a Resizer holds for a plan with these sizes. The position of the window does
// not matter.
size_t ResizeBytes(const ResizePlan& plan, int channels);

// Resizes images. Not thread-safe: use one per thread. Keeps its tables and rows between images.
class Resizer {
 public:
  Resizer();
  ~Resizer();
  Resizer(const Resizer&) = delete;
  Resizer& operator=(const Resizer&) = delete;

  // Writes the window to `out`: window.height rows of dense pixels at `stride` bytes, without touching the bytes
  // between them. `source` holds the part `at` of the box, which must contain SourceNeeded(plan), with 1 or 3 channels.
  // It must not overlap `out`. Returns Internal if OpenCV fails, for example without memory.
  absl::Status Run(const ResizePlan& plan, const ImageView& source, const Rect& at, uint8_t* out, size_t stride);

  // Resizes a source that arrives row by row and keeps only a few of its rows. Requires TakesRows(plan). The caller
  // passes the rows of SourceNeeded(plan) to the returned sink. The resizer owns the sink, which is valid until the
  // next Start, Run or Clear. The window is complete after the last row.
  ImageSink* Start(const ResizePlan& plan, int channels, uint8_t* out, size_t stride);

  size_t held_bytes() const;
  // Frees the memory.
  void Clear();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_RESIZE_RESIZE_H_
