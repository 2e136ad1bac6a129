#include "pipeline/image/decode_other.h"

#include <exception>
#include <string>

#include "absl/strings/str_cat.h"
#include "opencv2/core.hpp"
#include "opencv2/imgcodecs.hpp"
#include "pipeline/image/byte_reader.h"
#include "pipeline/image/color.h"

namespace penstock {
namespace {

// Whether pixels depend on a PNG's chunk (PNG specification, 11.2 and 11.3.1; no color is managed).
bool IsPixelChunk(std::string_view type) {
  return type == "IHDR" || type == "PLTE" || type == "tRNS" || type == "IDAT" || type == "IEND";
}

// The PNG without its other chunks: libpng inflates texts and profiles, and keeps up to 8 MB of each of a thousand.
// "" when there are none, or when the file ends inside a chunk before them.
std::string WithoutOtherChunks(std::string_view png) {
  constexpr size_t kSignature = 8, kFrame = 12;
  std::string kept;
  bool copying = false;
  for (size_t at = kSignature; at + kFrame <= png.size();) {
    const size_t size = kFrame + static_cast<size_t>(ReadBigEndian(png, at, 4));
    const std::string_view type = Slice(png, at + 4, 4);
    const std::string_view chunk = Slice(png, at, size);
    if (!IsPixelChunk(type) && !copying) {
      copying = true;
      kept.reserve(png.size());
      kept.append(png.substr(0, at));
    } else if (copying && IsPixelChunk(type)) {
      kept.append(chunk);
    }
    at += chunk.size();
    if (type == "IEND") break;
  }
  return kept;
}

}  // namespace

size_t DecodeOtherBytes(const ImageHeader& header) {
  // OpenCV's own matrix (3 bytes a pixel) and a codec's rows. WebP: libwebp's planes too, 4 bytes a pixel; with alpha,
  // which a header need not tell, a matrix of 4 and the planes that alpha is decoded in.
  const size_t pixels = static_cast<size_t>(header.width) * static_cast<size_t>(header.height);
  const size_t per_pixel = header.format == ImageFormat::kWebp ? 14 : 3;
  return pixels * per_pixel + static_cast<size_t>(header.width) * 32 + header.copied_bytes + (size_t{1} << 20);
}

absl::Status DecodeOther(std::string_view bytes, const ImageHeader& header, int channels, uint8_t* out, size_t stride) {
  const std::string format(ImageFormatName(header.format));
  std::string pixels_only;
  if (header.format == ImageFormat::kPng) {
    pixels_only = WithoutOtherChunks(bytes);
    if (!pixels_only.empty()) bytes = pixels_only;
  }
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
