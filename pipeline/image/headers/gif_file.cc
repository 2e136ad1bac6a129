#include "pipeline/image/headers/gif_file.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "pipeline/image/byte_reader.h"

// GIF89a specification: 18 screen, 20 image descriptor, 23 graphic control extension.
namespace penstock::image {
namespace {

absl::Status GifCutOff() {
  return WithFault(
      Fault::kTruncatedImage,
      absl::InvalidArgumentError("the GIF ends before its first frame; the file is cut off or overwritten"));
}

// Reads the palette that `flags` announce at `*at`, and advances `*at` past it. Returns false if the palette is
// truncated.
bool TakePalette(std::string_view bytes, int64_t flags, size_t* at, std::string_view* palette) {
  if ((flags & 0x80) == 0) return true;
  const size_t size = size_t{3} << ((flags & 7) + 1);
  *palette = Slice(bytes, *at, size);
  *at += size;
  return palette->size() == size;
}

}  // namespace

absl::StatusOr<GifFile> ReadGifFile(std::string_view bytes) {
  GifFile file;
  const int64_t flags = ReadLittleEndian(bytes, 10, 1);
  size_t at = 13;
  if (flags < 0 || !TakePalette(bytes, flags, &at, &file.palette)) return GifCutOff();
  file.width = static_cast<int>(ReadLittleEndian(bytes, 6, 2));
  file.height = static_cast<int>(ReadLittleEndian(bytes, 8, 2));
  while (true) {
    const int64_t what = ReadLittleEndian(bytes, at++, 1);
    if (what < 0) return GifCutOff();
    if (what == ';') return absl::InvalidArgumentError("the GIF holds no frame");
    if (what == ',') break;
    if (what != '!') continue;  // as Pillow does
    const int64_t kind = ReadLittleEndian(bytes, at++, 1);
    for (bool first = true;; first = false) {
      const int64_t size = ReadLittleEndian(bytes, at, 1);
      if (size < 0) return GifCutOff();
      if (first && kind == 0xF9 && size >= 4 && (ReadLittleEndian(bytes, at + 1, 1) & 1) != 0) {
        file.transparent = static_cast<int>(ReadLittleEndian(bytes, at + 4, 1));
      }
      at += 1 + static_cast<size_t>(size);
      if (size == 0) break;
    }
  }
  const int64_t frame_flags = ReadLittleEndian(bytes, at + 8, 1);
  if (frame_flags < 0) return GifCutOff();
  file.x = static_cast<int>(ReadLittleEndian(bytes, at, 2));
  file.y = static_cast<int>(ReadLittleEndian(bytes, at + 2, 2));
  file.frame_width = static_cast<int>(ReadLittleEndian(bytes, at + 4, 2));
  file.frame_height = static_cast<int>(ReadLittleEndian(bytes, at + 6, 2));
  file.interlaced = (frame_flags & 0x40) != 0;
  at += 9;
  if (!TakePalette(bytes, frame_flags, &at, &file.palette)) return GifCutOff();
  file.data_at = at;
  file.width = std::max(file.width, file.x + file.frame_width);
  file.height = std::max(file.height, file.y + file.frame_height);
  if (file.frame_width == 0 || file.frame_height == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the GIF's first frame has ", file.frame_width, " x ", file.frame_height, " pixels"));
  }
  return file;
}

}  // namespace penstock::image
