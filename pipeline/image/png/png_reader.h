// A rectangle of a PNG that is in order and not interlaced, faster than libspng reads it: what lies below the rectangle
// is not inflated, what lies beside it on the right has no filter undone.
//
// The checksum of every chunk is looked at first, and the end of the file; so a file that is cut off or
// has a wrong bit is found, wherever that lies. Only damage that an encoder made, below the rectangle, is not.
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

namespace penstock {

class PngReader {
 public:
  // Upper bound of held_bytes() after an image of this header.
  static size_t Bytes(const ImageHeader& header);

  // Hands the rows of `rect`, which lies inside, to `sink`; channels 3: RGB, 1: gray. False: gave up. Then libspng is
  // to be asked, and what the sink was given does not count.
  bool Read(std::string_view png, const ImageHeader& header, const Rect& rect, int channels, ImageSink* sink);

  size_t held_bytes() const {
    return sizeof(*this) + (inflater_ == nullptr ? 0 : inflater_->held_bytes()) + rows_.capacity() + strip_.capacity();
  }

 private:
  bool ReadRows(const PngLayout& layout, const Rect& rect, int channels, ImageSink* sink);

  std::unique_ptr<Inflater> inflater_;  // from the first file on
  std::vector<uint8_t> rows_;           // three, without their filters
  std::vector<uint8_t> strip_;          // of the rectangle
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_PNG_PNG_READER_H_
