// An image whose crop, resize and mirror wait until someone needs the pixels. This is where decoding and geometry
// become one step: only the pixels that the final window depends on are ever decoded, and the resize writes straight
// to where the row wants them.
//
// Waiting changes no byte: what cannot be joined exactly is done first (see CanResize).
#ifndef PENSTOCK_PIPELINE_AUGMENT_VALUE_LAZY_IMAGE_H_
#define PENSTOCK_PIPELINE_AUGMENT_VALUE_LAZY_IMAGE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "pipeline/augment/value/arena.h"
#include "pipeline/augment/value/stage_times.h"
#include "pipeline/image/image_header.h"
#include "pipeline/image/image_view.h"
#include "pipeline/image/jpeg/jpeg_decoder.h"
#include "pipeline/image/png/png_reader.h"
#include "pipeline/image/resize/resize.h"

namespace penstock {

// The tools of one thread that turn a LazyImage into pixels.
struct ImageTools {
  JpegDecoder jpeg;
  PngReader png;
  Resizer resizer;
  Arena arena;
  StageTimes times;
};

class LazyImage {
 public:
  // How the encoded source is to be decoded.
  struct Decoding {
    std::string_view bytes;  // must outlive the image
    ImageHeader header;      // of ProbeImage, within the limits
    ImageLimits limits = {};
    int channels = 3;
    bool lenient = false;
    bool upright = false;         // turn by the header's orientation
    std::string_view label = {};  // of the op, for messages; must outlive the image
  };

  LazyImage() = default;
  static LazyImage Encoded(const Decoding& decoding);
  // `view` must outlive the image. Its data may be null in an image that is only measured.
  static LazyImage InMemory(const ImageView& view);

  // Size after what waits.
  int width() const { return window_.width; }
  int height() const { return window_.height; }
  int channels() const { return channels_; }

  // Keeps `rect`, which must be inside.
  void Crop(const Rect& rect);
  // Mirrors left to right.
  void Flip() { flip_ = !flip_; }
  // Whether Resize may be called now. Not after another resize or a mirror: call Realize first.
  bool CanResize() const { return !resized_ && !flip_; }
  void Resize(int width, int height, ResizeMethod method, ResizeFilter filter);

  // Writes the pixels: height() rows at `stride` bytes, dense pixels. Sets *damaged when a lenient decode met damage.
  absl::Status Store(ImageTools* tools, uint8_t* out, size_t stride, bool* damaged) const;
  // The pixels in memory: where they lie already, or else made in the arena. *this is then that memory.
  absl::Status Realize(ImageTools* tools, bool* damaged);
  // The pixels, after Realize.
  const ImageView& view() const { return memory_; }
  bool IsRealized() const;

  // Upper bound of what Store takes beside `out`, and Realize with it; pixels are not touched.
  size_t StoreBytes() const;
  // Counts Realize's bytes into *bytes and takes its place in an image that is only measured.
  void PretendRealized(size_t* bytes);

 private:
  ResizePlan Plan() const;
  absl::Status StoreFrom(ImageTools* tools, const ImageView& source, const Rect& at, uint8_t* out, size_t stride) const;
  // Whether decoded rows go through the resize one by one, so that there is no image between the two.
  bool TakesDecodedRows() const;
  absl::Status DecodeTo(ImageTools* tools, const Rect& stored, ImageSink* sink, bool* damaged) const;
  absl::Status Decode(ImageTools* tools, const Rect& rect, uint8_t* out, size_t stride, bool* damaged) const;

  ImageView memory_;  // the source, unless encoded_
  bool encoded_ = false;
  Decoding decoding_;
  int channels_ = 0;
  // The part of the source that counts; what it is resized to; the part of that which is kept; mirrored at the end.
  Rect box_;
  bool resized_ = false;
  int resized_width_ = 0, resized_height_ = 0;
  ResizeMethod method_ = ResizeMethod::kPil;
  ResizeFilter filter_ = ResizeFilter::kBilinear;
  Rect window_;
  bool flip_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_VALUE_LAZY_IMAGE_H_
