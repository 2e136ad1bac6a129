#include "pipeline/image/formats/decode_other.h"

#include "pipeline/image/copy_rows.h"
#include "pipeline/image/formats/bmp.h"
#include "pipeline/image/formats/gif.h"
#include "pipeline/image/formats/png.h"
#include "pipeline/image/formats/webp.h"

namespace penstock::image {
namespace {

absl::Status DecodeWholePng(std::string_view bytes, const ImageHeader& header, const Canvas& canvas) {
  PngReader reader;
  ImageCopier copier(canvas.out, canvas.stride);
  return DecodePng(&reader, bytes, header, {0, 0, header.width, header.height}, canvas.channels, &copier,
                   canvas.classes);
}

}  // namespace

size_t DecodeOtherBytes(const ImageHeader& header) {
  constexpr size_t kMessages = 4096;
  switch (header.format) {
    case ImageFormat::kPng:
      return PngBytes(header) + kMessages;
    case ImageFormat::kWebp:
      return WebpBytes(header) + kMessages;
    case ImageFormat::kBmp:
    case ImageFormat::kGif:
    case ImageFormat::kJpeg:
      break;
  }
  return kMessages;
}

absl::Status DecodeOther(std::string_view bytes, const ImageHeader& header, int channels, uint8_t* out, size_t stride,
                         bool classes) {
  const Canvas canvas{channels, out, stride, classes};
  switch (header.format) {
    case ImageFormat::kPng:
      return DecodeWholePng(bytes, header, canvas);
    case ImageFormat::kWebp:
      return DecodeWebp(bytes, header, canvas);
    case ImageFormat::kBmp:
      return DecodeBmp(bytes, header, canvas);
    case ImageFormat::kGif:
      return DecodeGif(bytes, header, canvas);
    case ImageFormat::kJpeg:
      break;
  }
  return absl::InvalidArgumentError("a JPEG is decoded by JpegDecoder");
}

}  // namespace penstock::image
