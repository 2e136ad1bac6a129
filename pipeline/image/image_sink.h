// Receives an image from top to bottom, a few rows at a time, so that no buffer holds the whole image between producer
// and sink. An interlaced PNG is an exception: all of its rows arrive in one call.
#ifndef PENSTOCK_PIPELINE_IMAGE_IMAGE_SINK_H_
#define PENSTOCK_PIPELINE_IMAGE_IMAGE_SINK_H_

#include "pipeline/image/image_view.h"

namespace penstock::image {

class ImageSink {
 public:
  virtual ~ImageSink() = default;
  // Receives the next rows. Their memory belongs to the caller again after the call.
  virtual void Rows(const ImageView& rows) = 0;
  // Discards the rows received so far. The next call of Rows() begins with the first row.
  virtual void Restart() = 0;
};

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_IMAGE_SINK_H_
