// Any bytes as an image: the result matches the header, crops are parts of the whole picture, and the memory stays in
// proportion to the header. The last four bytes, which no format reads, choose the crop.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "pipeline/image/formats/decode_other.h"
#include "pipeline/image/image_header.h"
#include "pipeline/image/jpeg/jpeg_decoder.h"
#include "tests/support/allocation_peak.h"

namespace {

using penstock::image::ImageHeader;
using penstock::image::JpegDecoder;
using penstock::image::JpegOptions;
using penstock::image::Rect;

constexpr penstock::image::ImageLimits kLimits{.max_pixels = 1 << 16, .max_side = 4096};
// Fills the memory before and after the pixels, which must not change.
constexpr uint8_t kGuard = 0xA5;

// A part of [0, size), chosen by two bytes.
void ChoosePart(uint8_t a, uint8_t b, int size, int* at, int* length) {
  *at = a * size / 256;
  *length = 1 + b * (size - *at) / 256;
}

struct Picture {
  absl::StatusOr<bool> result = false;
  std::vector<uint8_t> pixels;
  bool ok() const { return result.ok(); }
};

// Decodes the rectangle at a stride that is longer than a row. Checks the promised memory.
Picture Decode(std::string_view bytes, const ImageHeader& header, const Rect& rect, bool lenient, int channels) {
  const size_t row = static_cast<size_t>(rect.width) * static_cast<size_t>(channels), stride = row + 3;
  std::vector<uint8_t> out(stride * static_cast<size_t>(rect.height), kGuard);
  Picture picture;
  {
    const penstock::support::AllocationPeak peak;
    JpegDecoder decoder;
    picture.result =
        decoder.Decode(bytes, rect, {.channels = channels, .lenient = lenient, .limits = kLimits}, out.data(), stride);
    PS_CHECK(peak.bytes() <= penstock::image::JpegDecoderBytes(header));
    PS_CHECK(decoder.held_bytes() <= penstock::image::JpegDecoderBytes(header));
  }
  if (!picture.ok()) {
    PS_CHECK(!picture.result.status().message().empty());
    return picture;
  }
  PS_CHECK(lenient || !*picture.result);
  for (size_t y = 0; y < static_cast<size_t>(rect.height); ++y) {
    const uint8_t* at = out.data() + y * stride;
    picture.pixels.insert(picture.pixels.end(), at, at + row);
    PS_CHECK(at[row] == kGuard && at[row + 1] == kGuard && at[row + 2] == kGuard);
  }
  return picture;
}

void CheckJpeg(std::string_view bytes, const ImageHeader& header) {
  uint8_t choice[4] = {};
  std::memcpy(choice, bytes.data() + bytes.size() - std::min<size_t>(4, bytes.size()),
              std::min<size_t>(4, bytes.size()));
  const int channels = choice[1] % 4 == 0 ? 1 : 3;
  Rect rect;
  ChoosePart(choice[0], choice[1], header.width, &rect.x, &rect.width);
  ChoosePart(choice[2], choice[3], header.height, &rect.y, &rect.height);
  const Rect whole{0, 0, header.width, header.height};

  const Picture all = Decode(bytes, header, whole, false, channels);
  const Picture strict = Decode(bytes, header, rect, false, channels);
  const Picture lenient = Decode(bytes, header, rect, true, channels);
  if (strict.ok()) PS_CHECK(lenient.ok() && lenient.pixels == strict.pixels && !*lenient.result);
  if (!all.ok()) {
    (void)Decode(bytes, header, whole, true, channels);
    return;
  }
  // In a sound file each part is sound and equal.
  PS_CHECK(strict.ok());
  const size_t row = static_cast<size_t>(rect.width) * static_cast<size_t>(channels);
  for (int y = 0; y < rect.height; ++y) {
    const size_t from = static_cast<size_t>((rect.y + y) * header.width + rect.x) * static_cast<size_t>(channels);
    PS_CHECK(std::memcmp(all.pixels.data() + from, strict.pixels.data() + static_cast<size_t>(y) * row, row) == 0);
  }
}

void CheckOther(std::string_view bytes, const ImageHeader& header) {
  for (const int channels : {3, 1}) {
    const size_t stride = static_cast<size_t>(header.width) * static_cast<size_t>(channels) + 3;
    std::vector<uint8_t> out(stride * static_cast<size_t>(header.height), kGuard);
    absl::Status status;
    {
      const penstock::support::AllocationPeak peak;
      status = penstock::image::DecodeOther(bytes, header, channels, out.data(), stride);
      PS_CHECK(peak.bytes() <= penstock::image::DecodeOtherBytes(header));
    }
    if (!status.ok()) {
      PS_CHECK(!status.message().empty());
      return;
    }
    for (size_t end = stride; end <= out.size(); end += stride) {
      PS_CHECK(out[end - 3] == kGuard && out[end - 2] == kGuard && out[end - 1] == kGuard);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto header = penstock::image::ProbeImage(bytes);
  if (!header.ok() || !penstock::image::CheckLimits(*header, kLimits).ok()) {
    // libjpeg gets no memory for the image in any case: there is room for one pixel.
    uint8_t pixel[3];
    JpegDecoder decoder;
    (void)decoder.Decode(bytes, {0, 0, 1, 1}, {.lenient = true, .limits = {.max_pixels = 1, .max_side = 1}}, pixel, 3);
    return 0;
  }
  if (header->format == penstock::image::ImageFormat::kJpeg) {
    CheckJpeg(bytes, *header);
  } else {
    CheckOther(bytes, *header);
  }
  return 0;
}
