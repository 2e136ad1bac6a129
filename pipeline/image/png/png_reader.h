// Reads a rectangle of a well-formed PNG without interlacing, faster than libspng. Rows below the rectangle are not
// inflated, and filters are not reversed to the right of it.
//
// It first verifies the checksum of every chunk and the end of the file. It therefore detects truncation and bit errors
// anywhere in the file. It does not detect wrong data below the rectangle if the checksums are correct.
#ifndef PENSTOCK_PIPELINE_IMAGE_PNG_PNG_READER_H_
#define PENSTOCK_PIPELINE_IMAGE_PNG_PNG_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "pipeline/image/image_header.h"
#include "pipeline/image/image_sink.h"
#include "pipeline/image/image_view.h"
#include "pipeline/image/png/inflater.h"
#include "pipeline/image/png/png_chunks.h"

namespace penstock::image {

class PngReader {
 public:
  // Returns an upper bound of held_bytes() after images of at most this width.
  static size_t Bytes(const ImageHeader& header);

  // Passes the rows of `rect`, which must be inside the picture, to `sink`. `channels` and `classes` are those of
  // StorePngPixels. If it returns false, the caller must use libspng and discard the rows that the sink received.
  bool Read(std::string_view png, const ImageHeader& header, const Rect& rect, int channels, ImageSink* sink,
            bool classes = false);

  size_t held_bytes() const {
    return sizeof(*this) + (inflater_ == nullptr ? 0 : inflater_->held_bytes()) + rows_.capacity() + strip_.capacity();
  }

 private:
  bool ReadRows(const PngLayout& layout, const Rect& rect, int channels, bool classes, ImageSink* sink);

  std::unique_ptr<Inflater> inflater_;  // allocated for the first file
  std::vector<uint8_t> rows_;           // three unfiltered rows
  std::vector<uint8_t> strip_;          // rows of the rectangle
};

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_PNG_PNG_READER_H_
