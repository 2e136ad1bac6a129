// Takes an image from top to bottom, a few rows at a time: what makes pixels hands them on while they are still in the
// first-level cache, and no image lies between the two.
#ifndef PENSTOCK_PIPELINE_IMAGE_IMAGE_SINK_H_
#define PENSTOCK_PIPELINE_IMAGE_IMAGE_SINK_H_

#include "pipeline/image/image_view.h"

namespace penstock {

class ImageSink {
 public:
  virtual ~ImageSink() = default;
  // The next rows; their memory is the caller's again afterwards.
  virtual void Rows(const ImageView& rows) = 0;
  // What was given does not count; the first row comes next.
  virtual void Restart() = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_IMAGE_SINK_H_
