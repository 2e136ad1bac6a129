// Decodes JPEG through libjpeg-turbo, one rectangle at a time. It transforms only the rows and columns that the
// rectangle needs, and its pixels equal those of a full decode bit for bit. McuDecoder decodes the Huffman codes,
// because it is faster. libjpeg decodes again any image that McuDecoder finds irregular.
//
// For a restart-indexed file (restart_jpeg.h), a crop decodes only its own tiles. The pixels are the same, but decoding
// is faster.
//
// Pixels equal Pillow's: accurate integer IDCT (JDCT_ISLOW) and fancy upsampling. This header does not include libjpeg.
#ifndef PENSTOCK_PIPELINE_IMAGE_JPEG_JPEG_DECODER_H_
#define PENSTOCK_PIPELINE_IMAGE_JPEG_JPEG_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/image/image_header.h"
#include "pipeline/image/image_sink.h"
#include "pipeline/image/image_view.h"

namespace penstock::image {

struct JpegOptions {
  int channels = 3;      // 3: RGB, 1: gray (Pillow's luma of the RGB pixels)
  bool lenient = false;  // keep libjpeg's output for damaged data
  ImageLimits limits = {};
  // Decode Huffman codes with libjpeg, as for irregular data: the same result, but slower. For comparisons.
  bool libjpeg_alone = false;
};

// Returns an upper bound of the bytes that decoding an image with this header allocates: a few rows, and all
// coefficients if header.several_scans.
size_t JpegDecoderBytes(const ImageHeader& header);

// Decodes JPEGs. Not thread-safe: use one per thread. Keeps its buffers between images, but no image data.
class JpegDecoder {
 public:
  JpegDecoder();
  ~JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  // Decodes `rect` of the image and passes it to `sink` from top to bottom, with rect.width pixels per row and at most
  // kStripRows rows at a time. Restarts the sink if libjpeg has to decode the image again. Returns whether the data is
  // damaged up to the rectangle's last row, where decoding stops. Only a lenient decode can return true.
  //   InvalidArgument: `rect` is not inside the image, or the bytes are no JPEG or one that libjpeg does not support.
  //   DataLoss: damaged or truncated (strict).       ResourceExhausted: over the limits.
  // An error of libjpeg carries its message. The sink may have received some of the rows by then.
  //
  // Damage is any libjpeg warning inside a scan, or a premature end. Unknown JFIF versions, garbage between header
  // segments or after the image, and unusual but harmless scan parameters are not damage.
  //
  // For a restart-indexed file, only the crop's tiles are decoded, so damage above or beside them goes unnoticed,
  // unlike in a plain decode. If a tile is damaged, the plain decode decides, regardless of the table.
  absl::StatusOr<bool> Decode(std::string_view bytes, const Rect& rect, const JpegOptions& options, ImageSink* sink);
  static constexpr int kStripRows = 16;

  // Decodes into `out`: rect.height rows at `stride` bytes, with rect.width * channels bytes each. After an error, the
  // content of `out` is unspecified.
  absl::StatusOr<bool> Decode(std::string_view bytes, const Rect& rect, const JpegOptions& options, uint8_t* out,
                              size_t stride);

  // Returns the bytes kept between images.
  size_t held_bytes() const;

  // Returns how many decodes libjpeg repeated because McuDecoder found the data irregular.
  uint64_t decoded_again() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_JPEG_JPEG_DECODER_H_
