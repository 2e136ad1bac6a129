#include "pipeline/image/headers/unread_format.h"

#include <algorithm>
#include <cstddef>

#include "pipeline/image/byte_reader.h"

namespace penstock::image {
namespace {

using namespace std::string_view_literals;

// ISO 14496-12, 4.3: the brands of a file type box. The first is the major brand; the second word is a version and is
// skipped.
std::string_view FormatOfBrands(std::string_view bytes) {
  constexpr size_t kMostBytes = 256;
  const int64_t length = ReadBigEndian(bytes, 0, 4);
  const std::string_view box =
      Slice(bytes, 0, length < 0 ? 0 : std::min<size_t>(static_cast<size_t>(length), kMostBytes));
  for (size_t at = 8; at + 4 <= box.size(); at += at == 8 ? 8 : 4) {
    const std::string_view brand = box.substr(at, 4);
    if (brand == "avif" || brand == "avis") return "an AVIF";
    for (const std::string_view heic : {"heic", "heix", "heim", "heis", "hevc", "hevx"}) {
      if (brand == heic) return "a HEIC";
    }
  }
  return {};
}

// Netpbm: "P" and a digit, then white space or a comment.
std::string_view FormatOfNetpbm(std::string_view bytes) {
  constexpr std::string_view kNames[] = {"a PBM", "a PGM", "a PPM", "a PBM", "a PGM", "a PPM", "a PAM"};
  if (bytes.size() < 3 || bytes[0] != 'P' || bytes[1] < '1' || bytes[1] > '7') return {};
  if (" \t\r\n#"sv.find(bytes[2]) == std::string_view::npos) return {};
  return kNames[bytes[1] - '1'];
}

}  // namespace

std::string_view UnreadFormat(std::string_view bytes) {
  const auto begins = [&](std::string_view start) { return bytes.substr(0, start.size()) == start; };
  if (begins("II*\0"sv) || begins("MM\0*"sv)) return "a TIFF";
  // The signature box of a JP2 file, or a bare codestream (ISO 15444-1).
  if (begins("\0\0\0\x0CjP  "sv) || begins("\xFF\x4F\xFF\x51"sv)) return "a JPEG 2000";
  // The container's signature box, or a bare codestream (ISO 18181-2).
  if (begins("\0\0\0\x0CJXL "sv) || begins("\xFF\x0A"sv)) return "a JPEG XL";
  if (Slice(bytes, 4, 4) == "ftyp") return FormatOfBrands(bytes);
  return FormatOfNetpbm(bytes);
}

}  // namespace penstock::image
