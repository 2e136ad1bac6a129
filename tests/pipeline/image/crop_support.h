// Crops of JPEGs, and a comparison of two files' crops.
#ifndef PENSTOCK_TESTS_PIPELINE_IMAGE_CROP_SUPPORT_H_
#define PENSTOCK_TESTS_PIPELINE_IMAGE_CROP_SUPPORT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/philox.h"
#include "pipeline/image/image_view.h"
#include "pipeline/image/jpeg/jpeg_decoder.h"

namespace penstock::image {

// Result of a decode. It has pixels only if the status is OK.
struct DecodedCrop {
  absl::Status status;
  bool damaged = false;
  std::vector<uint8_t> pixels;

  bool operator==(const DecodedCrop& other) const {
    return status == other.status && damaged == other.damaged && pixels == other.pixels;
  }
};

inline DecodedCrop DecodeCrop(JpegDecoder* decoder, std::string_view bytes, const Rect& rect, int channels = 3,
                              bool lenient = false, bool libjpeg_alone = false) {
  const size_t row = static_cast<size_t>(rect.width) * static_cast<size_t>(channels);
  DecodedCrop crop;
  crop.pixels.assign(row * static_cast<size_t>(rect.height), 0xAB);
  const JpegOptions options = {.channels = channels, .lenient = lenient, .libjpeg_alone = libjpeg_alone};
  const auto damaged = decoder->Decode(bytes, rect, options, crop.pixels.data(), row);
  crop.status = damaged.status();
  crop.damaged = damaged.value_or(false);
  if (!damaged.ok()) crop.pixels.clear();
  return crop;
}

inline Rect RandomRect(SampleRandom* random, int width, int height) {
  Rect rect;
  rect.width = 1 + static_cast<int>(random->Below(static_cast<uint32_t>(width)));
  rect.height = 1 + static_cast<int>(random->Below(static_cast<uint32_t>(height)));
  rect.x = static_cast<int>(random->Below(static_cast<uint32_t>(width - rect.width + 1)));
  rect.y = static_cast<int>(random->Below(static_cast<uint32_t>(height - rect.height + 1)));
  return rect;
}

inline std::string ToString(const Rect& rect) {
  return std::to_string(rect.x) + "," + std::to_string(rect.y) + " " + std::to_string(rect.width) + "x" +
         std::to_string(rect.height);
}

// The same file with its tile table renamed, so that no reader recognizes it: decoders use the plain path.
inline std::string HideTable(std::string bytes) {
  for (size_t at = 0; (at = bytes.find(std::string_view("PSTILES\0", 8), at)) != std::string::npos;) bytes[at] = 'x';
  return bytes;
}

}  // namespace penstock::image

#endif  // PENSTOCK_TESTS_PIPELINE_IMAGE_CROP_SUPPORT_H_
