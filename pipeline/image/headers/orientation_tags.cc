#include "pipeline/image/headers/orientation_tags.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/ascii.h"
#include "pipeline/image/byte_reader.h"

namespace penstock::image {
namespace {

// Limit for a raw profile. The directory with the tag is near its beginning.
constexpr size_t kMaxProfileBytes = size_t{64} << 10;

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = absl::ascii_tolower(static_cast<unsigned char>(c));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::optional<int> RawProfileOrientation(std::string_view text) {
  for (int line = 0; line < 3; ++line) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    text.remove_prefix(end + 1);
  }
  std::string tiff;
  int high = -1;
  for (const char c : text) {
    if (absl::ascii_isspace(static_cast<unsigned char>(c))) continue;
    const int digit = HexDigit(c);
    if (digit < 0 || tiff.size() == kMaxProfileBytes) break;
    if (high < 0) {
      high = digit;
    } else {
      tiff.push_back(static_cast<char>(high << 4 | digit));
      high = -1;
    }
  }
  return ExifOrientation(tiff);
}

// Returns the first match of Pillow's tiff:Orientation(="|>)([0-9]).
std::optional<int> XmpOrientation(std::string_view packet) {
  constexpr std::string_view kName = "tiff:Orientation";
  for (size_t at = packet.find(kName); at != std::string_view::npos; at = packet.find(kName, at + 1)) {
    std::string_view rest = packet.substr(at + kName.size());
    if (rest.substr(0, 2) == "=\"") {
      rest.remove_prefix(2);
    } else if (rest.substr(0, 1) == ">") {
      rest.remove_prefix(1);
    } else {
      continue;
    }
    if (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') return rest[0] - '0';
  }
  return std::nullopt;
}

}  // namespace

std::optional<int> ExifOrientation(std::string_view tiff) {
  constexpr int64_t kOrientationTag = 0x0112, kByte = 1, kShort = 3, kLong = 4;
  if (Slice(tiff, 0, 6) == std::string_view("Exif\0\0", 6)) tiff.remove_prefix(6);
  if (tiff.size() < 8) return std::nullopt;
  const bool little = Slice(tiff, 0, 4) == std::string_view("II*\0", 4);
  if (!little && Slice(tiff, 0, 4) != std::string_view("MM\0*", 4)) return std::nullopt;
  const auto number = [&](size_t offset, size_t count) {
    return little ? ReadLittleEndian(tiff, offset, count) : ReadBigEndian(tiff, offset, count);
  };
  const size_t directory = static_cast<size_t>(number(4, 4));
  const int64_t entries = number(directory, 2);
  for (int64_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + static_cast<size_t>(i) * 12;
    const int64_t tag = number(entry, 2);
    if (tag < 0) break;
    if (tag != kOrientationTag) continue;
    const int64_t type = number(entry + 2, 2), count = number(entry + 4, 4);
    const size_t size = type == kByte ? 1 : type == kShort ? 2 : type == kLong ? 4 : 0;
    const int64_t value = size > 0 && count == 1 ? number(entry + 8, size) : -1;
    if (value < 0) break;
    return static_cast<int>(value <= 8 ? value : 0);
  }
  return std::nullopt;
}

void OrientationTags::AddExif(std::string_view tiff) {
  if (has_exif_) return;
  has_exif_ = true;
  exif_ = ExifOrientation(tiff);
}

int OrientationTags::orientation() const {
  std::optional<int> value = exif_;
  if (!has_exif_) value = RawProfileOrientation(raw_profile_);
  if (!value.has_value()) value = XmpOrientation(xmp_);
  return value.has_value() && *value >= 1 && *value <= 8 ? *value : 1;
}

}  // namespace penstock::image
