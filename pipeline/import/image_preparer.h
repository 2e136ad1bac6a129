// What an import does to the bytes of one image.
#ifndef PENSTOCK_PIPELINE_IMPORT_IMAGE_PREPARER_H_
#define PENSTOCK_PIPELINE_IMPORT_IMAGE_PREPARER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/image/image_header.h"
#include "pipeline/image/image_view.h"
#include "pipeline/image/jpeg/jpeg_decoder.h"
#include "pipeline/image/resize/resize.h"
#include "pipeline/import/record_source.h"

namespace penstock {

struct PrepareOptions {
  // JPEG: the same coefficients with restart markers and their table, so that a crop reads only its own tiles. Images
  // that have no such form (progressive ones and other formats) keep their bytes.
  bool restart_index = true;
  // Images whose longer side has more pixels are made smaller (PIL bilinear, the aspect kept) and compressed as JPEG of
  // this quality. 0: none.
  uint32_t longer_side = 0;
  int quality = 90;
  // Decodes every image wholly, so that a damaged one is found now. Off: its header is looked at.
  bool check = true;
  // Takes what libjpeg makes of a damaged JPEG.
  bool lenient = false;
  ImageLimits limits;

  // As (flag, value): what of this changes the bytes that are written.
  std::vector<std::pair<std::string, std::string>> Arguments() const;
};

struct PreparedImage {
  std::string_view bytes;  // in the input, or in the preparer until its next call
  ImageFormat format = ImageFormat::kJpeg;
  int width = 0, height = 0;  // pixels as stored
  ImageTreatment treatment = ImageTreatment::kKept;
};

// One per thread; keeps its decoders and buffers.
class ImagePreparer {
 public:
  explicit ImagePreparer(const PrepareOptions& options) : options_(options) {}

  // InvalidArgument: no image that we read, or over the limits. DataLoss: it does not decode without damage.
  // EXIF orientation is never applied; an image that is compressed anew says the same orientation as before.
  absl::StatusOr<PreparedImage> Prepare(std::string_view encoded);

 private:
  // The whole image into pixels_, with 1 channel for gray ones, else 3.
  absl::StatusOr<ImageView> Decode(std::string_view encoded, const ImageHeader& header);
  absl::Status Check(std::string_view encoded, const ImageHeader& header);
  absl::Status Shrink(std::string_view encoded, const ImageHeader& header, PreparedImage* image);
  // Gives the JPEG its restart index where it can have one. DataLoss: the JPEG is damaged.
  absl::Status AddIndex(PreparedImage* image);

  const PrepareOptions options_;
  JpegDecoder decoder_;
  Resizer resizer_;
  std::vector<uint8_t> pixels_, smaller_;
  std::string encoded_, indexed_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMPORT_IMAGE_PREPARER_H_
