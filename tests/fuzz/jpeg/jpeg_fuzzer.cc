// Any bytes as a JPEG, plain and restart-indexed: no crash, a successful crop equals that part of the full decode, and
// files that the transcoder accepts give the same crops as their source. Rows that are resized during decoding equal
// the resize of the decoded crop.
//
// The first eight bytes place the crop and choose its resize. The rest is the file.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "pipeline/image/image_header.h"
#include "pipeline/image/jpeg/jpeg_decoder.h"
#include "pipeline/image/jpeg/restart_jpeg.h"
#include "pipeline/image/jpeg/restart_table.h"
#include "pipeline/image/resize/resize.h"

namespace {

using penstock::image::Rect;

// Small, so that an input costs little.
constexpr penstock::image::ImageLimits kLimits{.max_pixels = 1 << 16, .max_side = 2048};
constexpr size_t kCropBytes = 8;

struct Decoded {
  bool ok = false;
  std::vector<uint8_t> pixels;
};

Decoded Decode(penstock::image::JpegDecoder* decoder, std::string_view bytes, const Rect& rect,
               penstock::image::JpegOptions options) {
  const size_t row = static_cast<size_t>(rect.width) * static_cast<size_t>(options.channels);
  options.limits = kLimits;
  Decoded decoded;
  decoded.pixels.resize(row * static_cast<size_t>(rect.height));
  decoded.ok = decoder->Decode(bytes, rect, options, decoded.pixels.data(), row).ok();
  return decoded;
}

// Whether `crop` is `rect` of the image `full` that is `width` pixels wide.
bool IsCropOf(const Decoded& crop, const Decoded& full, int width, const Rect& rect, int channels) {
  const size_t row = static_cast<size_t>(rect.width * channels);
  for (int y = 0; y < rect.height; ++y) {
    const size_t at = static_cast<size_t>(((rect.y + y) * width + rect.x) * channels);
    if (std::memcmp(crop.pixels.data() + row * static_cast<size_t>(y), full.pixels.data() + at, row) != 0) return false;
  }
  return true;
}

// A rectangle inside width x height from four numbers.
Rect PlaceRect(const uint8_t* bytes, int width, int height) {
  const auto number = [bytes](int i) { return bytes[2 * i] << 8 | bytes[2 * i + 1]; };
  Rect rect;
  rect.width = 1 + number(0) % width;
  rect.height = 1 + number(1) % height;
  rect.x = number(2) % (width - rect.width + 1);
  rect.y = number(3) % (height - rect.height + 1);
  return rect;
}

// Requires a file that decodes as a whole. The decoder may still switch to libjpeg in the middle.
void CheckResizedRows(penstock::image::JpegDecoder* decoder, std::string_view bytes, const Rect& rect,
                      const Decoded& crop, int channels, const uint8_t* numbers) {
  static auto* const resizer = new penstock::image::Resizer;
  const penstock::image::ResizePlan plan{.box_width = rect.width,
                                         .box_height = rect.height,
                                         .out_width = 1 + numbers[2] % 96,
                                         .out_height = 1 + numbers[4] % 96,
                                         .window = {0, 0, 1 + numbers[2] % 96, 1 + numbers[4] % 96},
                                         .flip = numbers[6] % 2 == 1,
                                         .filter = static_cast<penstock::image::ResizeFilter>(numbers[7] % 5)};
  const size_t row = static_cast<size_t>(plan.out_width * channels);
  std::vector<uint8_t> wanted(row * static_cast<size_t>(plan.out_height)), got(wanted.size());
  const penstock::image::ImageView image{crop.pixels.data(), rect.width, rect.height, channels,
                                         static_cast<size_t>(rect.width * channels)};
  PS_CHECK(resizer->Run(plan, image, {0, 0, rect.width, rect.height}, wanted.data(), row).ok());
  const Rect needed = penstock::image::SourceNeeded(plan);
  const Rect part{rect.x + needed.x, rect.y + needed.y, needed.width, needed.height};
  const auto decoded = decoder->Decode(bytes, part, {.channels = channels, .limits = kLimits},
                                       resizer->Start(plan, channels, got.data(), row));
  PS_CHECK(decoded.ok() && got == wanted);
  PS_CHECK(resizer->held_bytes() <= size_t{16} << 20);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < kCropBytes) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + kCropBytes, size - kCropBytes);
  const auto header = penstock::image::ProbeImage(bytes);
  if (!header.ok() || header->format != penstock::image::ImageFormat::kJpeg) return 0;
  if (!penstock::image::CheckLimits(*header, kLimits).ok()) return 0;
  const int width = header->width, height = header->height;
  const Rect rect = PlaceRect(data, width, height), whole{0, 0, width, height};
  const int channels = data[0] % 2 == 0 ? 3 : 1;

  static auto* const decoder = new penstock::image::JpegDecoder;
  const Decoded full = Decode(decoder, bytes, whole, {.channels = channels});
  const Decoded crop = Decode(decoder, bytes, rect, {.channels = channels});
  Decode(decoder, bytes, rect, {.channels = channels, .lenient = true});
  PS_CHECK(decoder->held_bytes() <= penstock::image::JpegDecoderBytes(*header) + (size_t{1} << 20));
  // A file that decodes as a whole decodes in every part, to the same pixels.
  if (full.ok) PS_CHECK(crop.ok && IsCropOf(crop, full, width, rect, channels));

  if (full.ok) CheckResizedRows(decoder, bytes, rect, crop, channels, data);

  // McuDecoder accepts no file that libjpeg rejects, and gives the same pixels.
  for (const bool is_whole : {true, false}) {
    const Rect& part = is_whole ? whole : rect;
    const Decoded alone = Decode(decoder, bytes, part, {.channels = channels, .libjpeg_alone = true});
    const Decoded& ours = is_whole ? full : crop;
    if (alone.ok) PS_CHECK(ours.ok && ours.pixels == alone.pixels);
    if (!penstock::image::TileTable::Read(bytes)) PS_CHECK(ours.ok == alone.ok);
  }

  // Tiles of the size that the transcoder chooses, and the smallest.
  const auto indexed = penstock::image::AddRestartIndex(bytes, kLimits, data[1] % 2);
  if (!indexed.ok()) return 0;
  PS_CHECK(full.ok);
  const Decoded again = Decode(decoder, *indexed, rect, {.channels = channels});
  PS_CHECK(again.ok && again.pixels == crop.pixels);
  const Decoded all = Decode(decoder, *indexed, whole, {.channels = channels});
  PS_CHECK(all.ok && all.pixels == full.pixels);
  return 0;
}
