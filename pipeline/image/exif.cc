#include "pipeline/image/exif.h"

#include <cstddef>
#include <cstdint>

#include "pipeline/image/byte_reader.h"

namespace penstock {

int ExifOrientation(std::string_view tiff) {
  constexpr int64_t kOrientationTag = 0x0112, kShort = 3;
  if (Slice(tiff, 0, 6) == std::string_view("Exif\0\0", 6)) tiff.remove_prefix(6);
  if (tiff.size() < 8) return 1;
  const bool little = Slice(tiff, 0, 4) == std::string_view("II*\0", 4);
  if (!little && Slice(tiff, 0, 4) != std::string_view("MM\0*", 4)) return 1;
  const auto number = [&](size_t offset, size_t count) {
    return little ? ReadLittleEndian(tiff, offset, count) : ReadBigEndian(tiff, offset, count);
  };
  const size_t directory = static_cast<size_t>(number(4, 4));
  const int64_t entries = number(directory, 2);
  for (int64_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + static_cast<size_t>(i) * 12;
    const int64_t tag = number(entry, 2);
    if (tag < 0) return 1;
    if (tag != kOrientationTag) continue;
    const int64_t value = number(entry + 2, 2) == kShort ? number(entry + 8, 2) : 1;
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace penstock
