#include "pipeline/image/decode_other.h"

#include <exception>
#include <string>

#include "absl/strings/str_cat.h"
#include "opencv2/core.hpp"
#include "opencv2/imgcodecs.hpp"
#include "pipeline/image/colour.h"

namespace penstock {

size_t DecodeOtherBytes(const ImageHeader& header) {
  // OpenCV's own matrix (3 bytes a pixel), and a codec's rows or planes (libwebp: up to 4 bytes a pixel).
  const size_t pixels = static_cast<size_t>(header.width) * static_cast<size_t>(header.height);
  return pixels * 7 + static_cast<size_t>(header.width) * 32 + (size_t{1} << 20);
}

absl::Status DecodeOther(std::string_view bytes, const ImageHeader& header, int channels, uint8_t* out, size_t stride) {
  const std::string format(ImageFormatName(header.format));
  cv::Mat bgr;
  try {
    // OpenCV only reads the input, but has no const view of it.
    const cv::Mat input(1, static_cast<int>(bytes.size()), CV_8UC1, const_cast<char*>(bytes.data()));
    bgr = cv::imdecode(input, cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION);
  } catch (const std::exception& e) {
    return absl::DataLossError(absl::StrCat("the ", format, " does not decode: ", e.what()));
  }
  if (bgr.empty()) {
    return absl::DataLossError(
        absl::StrCat("the ", format, " does not decode; it is damaged, cut off or of a kind that is not read"));
  }
  if (bgr.cols != header.width || bgr.rows != header.height || bgr.type() != CV_8UC3) {
    return absl::DataLossError(absl::StrCat("the ", format, " decodes to ", bgr.cols, " x ", bgr.rows,
                                            " pixels where its header says ", header.width, " x ", header.height));
  }
  for (int y = 0; y < bgr.rows; ++y, out += stride) {
    const uint8_t* row = bgr.ptr<uint8_t>(y);
    for (int x = 0; x < bgr.cols; ++x) {
      const uint8_t b = row[3 * x], g = row[3 * x + 1], r = row[3 * x + 2];
      if (channels == 1) {
        out[x] = Luma(r, g, b);
      } else {
        out[3 * x] = r;
        out[3 * x + 1] = g;
        out[3 * x + 2] = b;
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace penstock
