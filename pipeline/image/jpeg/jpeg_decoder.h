// JPEG through libjpeg-turbo, a rectangle at a time: only the rows and columns that the rectangle needs are
// transformed, and its pixels are those of a full decode, bit for bit. Huffman codes are decoded by McuDecoder, which
// is faster; whatever it finds odd libjpeg decodes again.
//
// Of a restart-indexed file (restart_jpeg.h) a crop decodes only its own tiles: the same pixels, sooner.
//
// Pixels are Pillow's: accurate integer IDCT (JDCT_ISLOW), fancy upsampling. libjpeg itself is kept out of this header.
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

namespace penstock {

struct JpegOptions {
  int channels = 3;      // 3: RGB, 1: gray (Pillow's luma of the RGB pixels)
  bool lenient = false;  // keep what libjpeg makes of damaged data
  ImageLimits limits = {};
  // Huffman codes are decoded by libjpeg: the same result, slower. What odd data gets; for comparisons.
  bool libjpeg_alone = false;
};

// Upper bound of what decoding an image with this header allocates, in bytes: a few rows, for progressive images all
// coefficients.
size_t JpegDecoderBytes(const ImageHeader& header);

// One per thread; keeps its buffers from image to image, and nothing of the images.
class JpegDecoder {
 public:
  JpegDecoder();
  ~JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  // Decodes `rect` of the image and hands it to `sink` from top to bottom, rect.width pixels a row, at most kStripRows
  // rows at a time. When libjpeg has to do the image again the sink is restarted. Returns whether the data is damaged
  // as far as it was looked at, which is the rectangle's last row; only a lenient decode can return true.
  //   InvalidArgument: `rect` is not inside the image, no JPEG, or one that libjpeg does not read.
  //   DataLoss: damaged or cut off (strict).       ResourceExhausted: over the limits.
  // All carry libjpeg's own words. The sink has then had some of the rows.
  //
  // Damage is what libjpeg warns of while it reads a scan, and an end before the end. No damage: unknown JFIF
  // versions, garbage between header segments or after the image, odd but harmless scan parameters.
  //
  // Of a restart-indexed file only the crop's tiles are looked at: damage above them or beside them is not seen, which
  // a plain decode would see. Damage in them is judged by the plain decode, whatever the table says.
  absl::StatusOr<bool> Decode(std::string_view bytes, const Rect& rect, const JpegOptions& options, ImageSink* sink);
  static constexpr int kStripRows = 16;

  // The same into `out`: rect.height rows at `stride` bytes, rect.width * channels bytes each. After an error `out` is
  // unspecified.
  absl::StatusOr<bool> Decode(std::string_view bytes, const Rect& rect, const JpegOptions& options, uint8_t* out,
                              size_t stride);

  // Bytes kept between images.
  size_t held_bytes() const;

  // Decodes that McuDecoder began and libjpeg did again, since the data was odd.
  uint64_t decoded_again() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_JPEG_JPEG_DECODER_H_
