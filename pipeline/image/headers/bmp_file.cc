#include "pipeline/image/headers/bmp_file.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/status_macros.h"
#include "pipeline/image/byte_reader.h"

namespace penstock::image {
namespace {

constexpr size_t kFileHeader = 14;
constexpr int64_t kCoreHeader = 12, kInfoHeader = 40, kOs2Header = 64;

absl::Status BmpCutOff() {
  return WithFault(Fault::kTruncatedImage,
                   absl::InvalidArgumentError("the BMP ends inside its header; the file is cut off or overwritten"));
}

absl::Status NotRead(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("the BMP has ", what, ", which is not read; convert it to PNG"));
}

struct Masks {
  uint32_t red, green, blue, alpha;
  friend bool operator==(const Masks&, const Masks&) = default;
};

// Accepts the masks that Pillow accepts, and RGBX, which is unambiguous. Pillow rejects the others too.
absl::Status ApplyMasks(const Masks& masks, BmpFile* file) {
  const bool no_alpha = masks.alpha == 0;
  if (file->bits == 16) {
    file->green_6 = masks.red == 0xF800 && masks.green == 0x07E0 && masks.blue == 0x001F;
    if (file->green_6 || (masks.red == 0x7C00 && masks.green == 0x03E0 && masks.blue == 0x001F))
      return absl::OkStatus();
  } else if (file->bits == 24) {
    if (masks.red == 0xFF0000 && masks.green == 0xFF00 && masks.blue == 0xFF) return absl::OkStatus();
  } else if (file->bits == 32) {
    struct Order {
      Masks masks;
      int red, green, blue;
    };
    static constexpr Order kOrders[] = {{{0xFF0000, 0xFF00, 0xFF, 0}, 2, 1, 0},
                                        {{0xFF0000, 0xFF00, 0xFF, 0xFF000000}, 2, 1, 0},
                                        {{0, 0, 0, 0}, 2, 1, 0},
                                        {{0xFF000000, 0xFF0000, 0xFF00, 0}, 3, 2, 1},
                                        {{0xFF000000, 0xFF0000, 0xFF00, 0xFF}, 3, 2, 1},
                                        {{0xFF, 0xFF00, 0xFF0000, 0xFF000000}, 0, 1, 2},
                                        {{0xFF, 0xFF00, 0xFF0000, 0}, 0, 1, 2},
                                        {{0xFF000000, 0xFF00, 0xFF, 0}, 3, 1, 0},
                                        {{0xFF000000, 0xFF00, 0xFF, 0xFF0000}, 3, 1, 0}};
    for (const Order& order : kOrders) {
      if (!(order.masks == masks)) continue;
      file->red = order.red;
      file->green = order.green;
      file->blue = order.blue;
      return absl::OkStatus();
    }
  }
  return NotRead(absl::StrCat("pixels of ", file->bits, " bits with the masks ", absl::Hex(masks.red), ", ",
                              absl::Hex(masks.green), ", ", absl::Hex(masks.blue),
                              no_alpha ? "" : absl::StrCat(", ", absl::Hex(masks.alpha))));
}

// Compression numbers: 0 none, 1 RLE8, 2 RLE4, 3 masks, 4 JPEG, 5 PNG.
absl::Status ReadCoding(std::string_view bytes, int64_t header, int64_t compression, BmpFile* file, size_t* at) {
  if (compression == 0) return absl::OkStatus();
  if ((compression == 1 && file->bits == 8) || (compression == 2 && file->bits == 4)) {
    file->coding = compression == 1 ? BmpFile::Coding::kRle8 : BmpFile::Coding::kRle4;
    return absl::OkStatus();
  }
  if (compression != 3 || file->bits <= 8 || header == kOs2Header) {
    return NotRead(absl::StrCat("compression ", compression, " at ", file->bits, " bits a pixel"));
  }
  // The masks follow a header of 40 bytes and are part of larger headers.
  const size_t masks_at = kFileHeader + kInfoHeader;
  const bool inside = header > kInfoHeader, with_alpha = header >= 56;
  if (!inside) *at += 12;
  const int64_t alpha = with_alpha ? ReadLittleEndian(bytes, masks_at + 12, 4) : 0;
  if (ReadLittleEndian(bytes, masks_at + 8, 4) < 0 || alpha < 0) return BmpCutOff();
  return ApplyMasks({static_cast<uint32_t>(ReadLittleEndian(bytes, masks_at, 4)),
                     static_cast<uint32_t>(ReadLittleEndian(bytes, masks_at + 4, 4)),
                     static_cast<uint32_t>(ReadLittleEndian(bytes, masks_at + 8, 4)), static_cast<uint32_t>(alpha)},
                    file);
}

}  // namespace

absl::StatusOr<BmpFile> ReadBmpFile(std::string_view bytes) {
  BmpFile file;
  const int64_t header = ReadLittleEndian(bytes, kFileHeader, 4);
  int64_t width = -1, height = -1, bits = -1, compression = 0, colors = 0;
  if (header == kCoreHeader) {
    width = ReadLittleEndian(bytes, 18, 2);
    height = ReadLittleEndian(bytes, 20, 2);
    bits = ReadLittleEndian(bytes, 24, 2);
    file.color_bytes = 3;
  } else if (header == kInfoHeader || header == 52 || header == 56 || header == kOs2Header || header == 108 ||
             header == 124) {
    if (ReadLittleEndian(bytes, 50, 4) < 0) return BmpCutOff();
    width = static_cast<int32_t>(ReadLittleEndian(bytes, 18, 4));
    height = static_cast<int32_t>(ReadLittleEndian(bytes, 22, 4));
    file.top_down = height < 0;
    if (height < 0) height = -height;
    bits = ReadLittleEndian(bytes, 28, 2);
    compression = ReadLittleEndian(bytes, 30, 4);
    colors = ReadLittleEndian(bytes, 46, 4);
  } else if (header >= 0) {
    return NotRead(absl::StrCat("a header of ", header, " bytes"));
  }
  if (bits < 0) return BmpCutOff();
  if (width <= 0 || height <= 0 || height > INT32_MAX) {
    return absl::InvalidArgumentError(absl::StrCat("the BMP's header declares ", width, " x ", height, " pixels"));
  }
  if (bits != 1 && bits != 4 && bits != 8 && bits != 16 && bits != 24 && bits != 32) {
    return NotRead(absl::StrCat(bits, " bits a pixel"));
  }
  file.width = static_cast<int>(width);
  file.height = static_cast<int>(height);
  file.bits = static_cast<int>(bits);
  size_t at = kFileHeader + static_cast<size_t>(header);
  PS_RETURN_IF_ERROR(ReadCoding(bytes, header, compression, &file, &at));
  file.palette_at = at;
  if (bits <= 8) {
    if (colors == 0) colors = int64_t{1} << bits;
    if (colors > 256) return NotRead(absl::StrCat("a palette of ", colors, " colors"));
    file.colors = static_cast<int>(colors);
    at += static_cast<size_t>(file.colors) * static_cast<size_t>(file.color_bytes);
  }
  const int64_t pixels_at = ReadLittleEndian(bytes, 10, 4);
  // Some files have offset 0, or an offset that ignores the palette. As in Pillow, their pixels then directly follow
  // the headers and the palette.
  const bool forgets = bits <= 8 && pixels_at == static_cast<int64_t>(kFileHeader) + header;
  file.pixels_at = pixels_at == 0 || forgets ? at : static_cast<size_t>(pixels_at);
  return file;
}

}  // namespace penstock::image
