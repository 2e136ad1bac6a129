// The chunks of a PNG on which its pixels depend, checked as a whole before any of them is inflated. Pure.
//
// Taken is what is in order: a header that makes sense, checksums that are right, a palette where one is needed, an
// end. Of anything else libspng is asked. Source: PNG specification (2nd edition), 5 and 11.2.
#ifndef PENSTOCK_PIPELINE_IMAGE_PNG_PNG_CHUNKS_H_
#define PENSTOCK_PIPELINE_IMAGE_PNG_PNG_CHUNKS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "pipeline/image/png/inflater.h"

namespace penstock {

enum class PngColor : uint8_t { kGray = 0, kRgb = 2, kPalette = 3, kGrayAlpha = 4, kRgba = 6 };

// How a pixel is stored.
struct PngLayout {
  int width = 0, height = 0;
  PngColor color = PngColor::kGray;
  int depth = 8;  // bits a value: 1, 2, 4, 8, 16
  bool interlaced = false;
  int palette_size = 0;  // 0: no palette
  std::array<uint8_t, 256 * 3> palette{};

  int values() const;  // a pixel
  size_t RowBytes(size_t pixels) const { return (pixels * static_cast<size_t>(values() * depth) + 7) / 8; }
  // From a byte of a row to the one that a filter compares it with.
  size_t FilterStep() const { return values() * depth <= 8 ? 1 : static_cast<size_t>(values() * depth / 8); }
};

// Nullopt: of that libspng is to be asked. `bytes` begins with a PNG's signature.
std::optional<PngLayout> ReadPngLayout(std::string_view bytes);

// The picture data of a file that ReadPngLayout took, piece by piece.
class PngData final : public InflaterInput {
 public:
  explicit PngData(std::string_view png) : png_(png) {}
  std::string_view Next() override;

 private:
  const std::string_view png_;
  size_t at_ = 8;  // the next chunk
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_PNG_PNG_CHUNKS_H_
