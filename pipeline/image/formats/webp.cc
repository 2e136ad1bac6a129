#include "pipeline/image/formats/webp.h"

#include <webp/decode.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/status_macros.h"
#include "pipeline/image/headers/vp8l_walk.h"
#include "pipeline/image/headers/webp_file.h"

namespace penstock::image {
namespace {

const char* Reason(VP8StatusCode code) {
  switch (code) {
    case VP8_STATUS_OUT_OF_MEMORY:
      return "out of memory";
    case VP8_STATUS_BITSTREAM_ERROR:
      return "its bits are against the format";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return "it uses what libwebp does not read";
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA:
      return "it is cut off";
    default:
      return "it is broken";
  }
}

// libwebp rejects bare streams of fewer bytes.
constexpr size_t kMinStream = 12;

// Wraps a stream of fewer than kMinStream bytes in a minimal RIFF file.
std::string_view MakeFile(const WebpFile& file, std::array<char, 2 * kMinStream + 8>* out) {
  const size_t size = file.stream.size(), padded = size + size % 2;
  out->fill(0);
  std::memcpy(out->data(), "RIFF\0\0\0\0WEBP", 12);
  std::memcpy(out->data() + 12, file.lossless ? "VP8L" : "VP8 ", 4);
  (*out)[4] = static_cast<char>(12 + padded);
  (*out)[16] = static_cast<char>(size);
  std::memcpy(out->data() + 20, file.stream.data(), size);
  return {out->data(), 20 + padded};
}

// Decodes the picture of `file` to `rgb`, which must have room for it.
absl::Status Decode(const WebpFile& file, uint8_t* rgb, size_t stride) {
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) return absl::InternalError("libwebp has another version than its header");
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = rgb;
  config.output.u.RGBA.stride = static_cast<int>(stride);
  config.output.u.RGBA.size =
      stride * (static_cast<size_t>(file.frame_height) - 1) + static_cast<size_t>(file.frame_width) * 3;
  // Passes the bare stream, because libwebp would also decode the alpha of a whole file. libwebp would treat a very
  // short stream as truncated, so that one is wrapped in a file again.
  std::string_view stream = file.stream;
  std::array<char, 2 * kMinStream + 8> whole;
  if (stream.size() < kMinStream) stream = MakeFile(file, &whole);
  const VP8StatusCode code = WebPDecode(reinterpret_cast<const uint8_t*>(stream.data()), stream.size(), &config);
  if (code == VP8_STATUS_OK) return absl::OkStatus();
  const bool cut_off = code == VP8_STATUS_SUSPENDED || code == VP8_STATUS_NOT_ENOUGH_DATA;
  return WithFault(cut_off ? Fault::kTruncatedImage : Fault::kDamagedImage,
                   absl::DataLossError(absl::StrCat("the WebP does not decode: ", Reason(code))));
}

}  // namespace

size_t WebpBytes(const ImageHeader& header) {
  const size_t width = static_cast<size_t>(header.width), height = static_cast<size_t>(header.height);
  // The RGB picture, needed if the output is gray, and rows and tables of the lossy decoder.
  const size_t lossy = width * height * 3 + width * 320 + (size_t{96} << 10);
  if (header.prefix_code_bytes == 0) return lossy;
  // 4 bytes per pixel, 17 more rows, and three images with a pixel per block of 4 x 4: two transforms and the map of
  // groups.
  const size_t blocks = ((width + 3) / 4) * ((height + 3) / 4);
  return lossy + 4 * (width * height + 17 * width) + 3 * 4 * blocks + header.prefix_code_bytes + (size_t{64} << 10);
}

absl::Status DecodeWebp(std::string_view bytes, const ImageHeader& header, const Canvas& canvas) {
  PS_ASSIGN_OR_RETURN(const WebpFile file, ReadWebpFile(bytes));
  if (file.stream.empty()) {
    return WithFault(file.cut_off ? Fault::kTruncatedImage : Fault::kDamagedImage,
                     absl::DataLossError(absl::StrCat("the WebP does not decode: ", file.trouble)));
  }
  PS_RETURN_IF_ERROR(CheckSize("WebP", header, file.width, file.height));
  if (file.lossless && header.prefix_code_bytes == 0) {
    const absl::Status trouble = PrefixCodeBytes(file.stream).status();
    return absl::DataLossError(trouble.ok() ? absl::string_view("the WebP's header is another file's")
                                            : trouble.message());
  }
  const size_t channels = static_cast<size_t>(canvas.channels);
  if (file.frame_width != file.width || file.frame_height != file.height) {
    for (int y = 0; y < file.height; ++y) {
      std::fill_n(canvas.Row(y), static_cast<size_t>(file.width) * channels, uint8_t{0});
    }
  }
  uint8_t* const out = canvas.Row(file.y) + static_cast<size_t>(file.x) * channels;
  if (canvas.channels == 3) return Decode(file, out, canvas.stride);
  const size_t stride = static_cast<size_t>(file.frame_width) * 3;
  std::vector<uint8_t> rgb(stride * static_cast<size_t>(file.frame_height));
  PS_RETURN_IF_ERROR(Decode(file, rgb.data(), stride));
  for (int y = 0; y < file.frame_height; ++y) {
    RowRgbToGray(rgb.data() + static_cast<size_t>(y) * stride, file.frame_width,
                 out + static_cast<size_t>(y) * canvas.stride);
  }
  return absl::OkStatus();
}

}  // namespace penstock::image
