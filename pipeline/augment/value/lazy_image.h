// An image whose crop, resize and mirror are deferred until an op needs the pixels. Decoding and geometry become one
// step: a JPEG or PNG is decoded only where the final window needs it (unless Decoding::whole), and the resize writes
// directly to the row's memory.
//
// Deferring changes no byte: operations that cannot be combined exactly are executed first (see CanResize).
#ifndef PENSTOCK_PIPELINE_AUGMENT_VALUE_LAZY_IMAGE_H_
#define PENSTOCK_PIPELINE_AUGMENT_VALUE_LAZY_IMAGE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "pipeline/augment/value/arena.h"
#include "pipeline/augment/value/own_op_names.h"
#include "pipeline/augment/value/stage_times.h"
#include "pipeline/image/image_header.h"
#include "pipeline/image/image_view.h"
#include "pipeline/image/jpeg/jpeg_decoder.h"
#include "pipeline/image/png/png_reader.h"
#include "pipeline/image/resize/resize.h"
#include "pipeline/image/warp.h"

namespace penstock {

// The tools of one thread that realize a LazyImage.
struct ImageTools {
  image::JpegDecoder jpeg;
  image::PngReader png;
  image::Resizer resizer;
  Arena arena;
  StageTimes times;
  // The sampling of ops with filter BILINEAR. Only ConformanceDigest uses another value than kBilinear.
  WarpSampling bilinear = WarpSampling::kBilinear;

  WarpSampling Sampling(WarpSampling wanted) const { return wanted == WarpSampling::kNearest ? wanted : bilinear; }
};

class LazyImage {
 public:
  // Parameters for decoding the encoded source.
  struct Decoding {
    std::string_view bytes;  // must outlive the image
    ImageHeader header;      // from ProbeImage, within the limits
    ImageLimits limits = {};
    int channels = 3;             // 2: a PNG of 16-bit classes
    bool classes = false;         // a mask: color numbers of a palette (StorePngPixels, DecodeOther)
    bool lenient = false;         // a JPEG with damaged data gives the decoder's pixels, not an error
    bool upright = false;         // rotate by the header's orientation
    bool whole = false;           // decode everything, so that damage outside the needed part is an error too
    std::string_view label = {};  // label of the op, for messages; must outlive the image
  };

  LazyImage() = default;
  static LazyImage Encoded(const Decoding& decoding);
  // `view` must outlive the image. Its data may be null if the image is only measured.
  static LazyImage InMemory(const ImageView& view);

  // Returns the size after the deferred steps.
  int width() const { return window_.width; }
  int height() const { return window_.height; }
  int channels() const { return channels_; }

  // Crops to `rect`, which must be inside the image.
  void Crop(const Rect& rect);
  // Mirrors left to right.
  void Flip() { flip_ = !flip_; }
  // Returns whether Resize may be called now. After another resize or a mirror, call Realize first.
  bool CanResize() const { return !resized_ && !flip_; }
  void Resize(int width, int height, ResizeMethod method, ResizeFilter filter);

  // Writes height() rows of dense pixels at `stride` bytes. Sets *damaged if a lenient decode encounters damage.
  absl::Status Store(ImageTools* tools, uint8_t* out, size_t stride, bool* damaged) const;
  // Realizes the pixels: uses them in place if they are in memory and need no resize or mirror, otherwise computes them
  // in the arena. Afterwards *this refers to that memory. Memory of the arena stays valid until Arena::Reset. Sets
  // *damaged as Store does.
  absl::Status Realize(ImageTools* tools, bool* damaged);
  // Returns the pixels. Requires IsRealized().
  const ImageView& view() const { return memory_; }
  bool IsRealized() const;

  // Returns an upper bound of the memory that Store allocates besides `out`. Realize also allocates
  // width() * height() * channels() bytes for the result, unless it uses the pixels in place. Reads no pixels.
  size_t StoreBytes() const;
  // Replaces Realize for an image that is only measured: adds its bytes to *bytes.
  void PretendRealized(size_t* bytes);

 private:
  image::ResizePlan Plan() const;
  absl::Status StoreFrom(ImageTools* tools, const ImageView& source, const Rect& at, uint8_t* out, size_t stride) const;
  // Returns whether decoded rows go through the resize one by one, without an image in between.
  bool TakesDecodedRows() const;
  absl::Status DecodeTo(ImageTools* tools, const Rect& stored, ImageSink* sink, bool* damaged) const;
  absl::Status DecodePart(ImageTools* tools, const Rect& stored, ImageSink* sink, bool* damaged) const;
  absl::Status Decode(ImageTools* tools, const Rect& rect, uint8_t* out, size_t stride, bool* damaged) const;

  ImageView memory_;  // the source, unless encoded_
  bool encoded_ = false;
  Decoding decoding_;
  int channels_ = 0;
  // The result: the part box_ of the source, resized if resized_, then cropped to window_, then mirrored if flip_.
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
