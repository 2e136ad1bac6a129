// The chunks of a PNG, which are all checked before any is inflated. Pure.
//
// A well-formed file has a valid header, correct checksums, pixel data, a palette if it needs one, and an end chunk.
// libspng reads all other files. Source: PNG specification (2nd edition), 5 and 11.2.
#ifndef PENSTOCK_PIPELINE_IMAGE_PNG_PNG_CHUNKS_H_
#define PENSTOCK_PIPELINE_IMAGE_PNG_PNG_CHUNKS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "pipeline/image/png/inflater.h"

namespace penstock::image {

enum class PngColor : uint8_t { kGray = 0, kRgb = 2, kPalette = 3, kGrayAlpha = 4, kRgba = 6 };

// The layout of stored pixels.
struct PngLayout {
  int width = 0, height = 0;
  PngColor color = PngColor::kGray;
  int depth = 8;  // bits per value: 1, 2, 4, 8 or 16
  bool interlaced = false;
  int palette_size = 0;                    // 0: no palette
  std::array<uint8_t, 256 * 3> palette{};  // black beyond palette_size

  int values() const;  // per pixel
  size_t RowBytes(size_t pixels) const { return (pixels * static_cast<size_t>(values() * depth) + 7) / 8; }
  // Returns the distance in bytes between a byte and the one that a filter compares it with.
  size_t FilterStep() const { return values() * depth <= 8 ? 1 : static_cast<size_t>(values() * depth / 8); }
};

// Returns the layout, or nullopt if libspng has to read the file. `bytes` begins with a PNG's signature.
std::optional<PngLayout> ReadPngLayout(std::string_view bytes);

// The picture data of a file that ReadPngLayout accepted, piece by piece.
class PngData final : public InflaterInput {
 public:
  explicit PngData(std::string_view png) : png_(png) {}
  std::string_view Next() override;

 private:
  const std::string_view png_;
  size_t at_ = 8;  // offset of the next chunk
};

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_PNG_PNG_CHUNKS_H_
