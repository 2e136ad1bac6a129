// Preparation of one image's bytes for an import.
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

namespace penstock::imports {

struct PrepareOptions {
  // Rewrites JPEGs with restart markers and a table of them, so that a crop reads only its own tiles. The coefficients
  // do not change. Images that have no such form (progressive JPEGs and other formats) keep their bytes.
  bool restart_index = true;
  // Resizes images whose longer side has more pixels (PIL bilinear, aspect kept), and compresses them as JPEG of
  // `quality`. 0: never.
  uint32_t longer_side = 0;
  int quality = 90;
  // Reads the data of every image completely, and reports damaged images. Otherwise reports only damaged headers, and
  // damage that prevents a resize.
  bool check = true;
  // Accepts damaged JPEGs as libjpeg decodes them.
  bool lenient = false;
  image::ImageLimits limits;

  // Returns the options that change the written bytes, as (flag, value).
  std::vector<std::pair<std::string, std::string>> Arguments() const;
};

struct PreparedImage {
  std::string_view bytes;  // in the input, or in the preparer until its next call
  image::ImageFormat format = image::ImageFormat::kJpeg;
  int width = 0, height = 0;  // pixels as stored
  ImageTreatment treatment = ImageTreatment::kKept;
};

// Not thread-safe: each thread has its own, which keeps its decoders and buffers.
class ImagePreparer {
 public:
  explicit ImagePreparer(const PrepareOptions& options) : options_(options) {}

  // Prepares an image. InvalidArgument: no supported image, or over the limits. DataLoss: the image is damaged. Never
  // applies EXIF orientation. A re-encoded image keeps the orientation of the original.
  absl::StatusOr<PreparedImage> Prepare(std::string_view encoded);

 private:
  // Decodes the whole image into pixels_, with 1 channel for gray images and 3 for others.
  absl::StatusOr<image::ImageView> Decode(std::string_view encoded, const image::ImageHeader& header);
  absl::Status Check(std::string_view encoded, const image::ImageHeader& header);
  absl::Status Shrink(std::string_view encoded, const image::ImageHeader& header, PreparedImage* image);
  // Adds the restart index to a JPEG if its kind can have one. DataLoss: the JPEG is damaged.
  absl::Status AddIndex(PreparedImage* image);

  const PrepareOptions options_;
  image::JpegDecoder decoder_;
  image::Resizer resizer_;
  std::vector<uint8_t> pixels_, smaller_;
  std::string encoded_, indexed_;
};

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_IMAGE_PREPARER_H_
