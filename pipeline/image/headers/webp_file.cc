#include "pipeline/image/headers/webp_file.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "base/fault.h"
#include "pipeline/image/byte_reader.h"
#include "pipeline/image/headers/orientation_tags.h"

namespace penstock::image {
namespace {

struct Size {
  int64_t width = -1, height = -1;
};

// Returns the size in a key frame's header (RFC 6386, 9.1).
Size Vp8Size(std::string_view stream) {
  const int64_t first = ReadLittleEndian(stream, 0, 1);
  if (first < 0 || (first & 1) != 0 || ReadBigEndian(stream, 3, 3) != 0x9D012A) return {};
  const int64_t width = ReadLittleEndian(stream, 6, 2), height = ReadLittleEndian(stream, 8, 2);
  if (width < 0 || height < 0) return {};
  return {width & 0x3FFF, height & 0x3FFF};
}

Size Vp8lSize(std::string_view stream) {
  const int64_t bits = ReadLittleEndian(stream, 1, 4);
  if (bits < 0 || ReadBigEndian(stream, 0, 1) != 0x2F) return {};
  return {(bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1};
}

// Uses the first VP8 or VP8L chunk at or after `at` as the file's picture. If the chunk is truncated, its decoder
// reports the missing bytes.
bool FindPicture(std::string_view chunks, WebpFile* file) {
  for (size_t at = 0; at + 8 <= chunks.size();) {
    const std::string_view type = Slice(chunks, at, 4);
    const size_t length = static_cast<size_t>(ReadLittleEndian(chunks, at + 4, 4));
    if (type == "VP8 " || type == "VP8L") {
      const std::string_view stream = Slice(chunks, at + 8, length);
      file->lossless = type == "VP8L";
      const Size size = file->lossless ? Vp8lSize(stream) : Vp8Size(stream);
      if (size.width <= 0 || size.height <= 0) {
        file->trouble = "its picture's header is cut off or broken";
        return false;
      }
      if (stream.size() < length) {
        file->trouble = "it is cut off inside its picture";
        file->cut_off = true;
        return false;
      }
      file->stream = stream;
      file->frame_width = static_cast<int>(size.width);
      file->frame_height = static_cast<int>(size.height);
      return true;
    }
    at += 8 + length + (length & 1);
  }
  file->trouble = "it ends before its picture";
  file->cut_off = true;
  return false;
}

// 2.7.1.1: the first ANMF chunk's rectangle and chunks.
void FindFirstFrame(std::string_view chunks, WebpFile* file) {
  for (size_t at = 0; at + 8 <= chunks.size();) {
    const size_t length = static_cast<size_t>(ReadLittleEndian(chunks, at + 4, 4));
    if (Slice(chunks, at, 4) == "ANMF") {
      const std::string_view frame = Slice(chunks, at + 8, length);
      const int64_t x = ReadLittleEndian(frame, 0, 3), y = ReadLittleEndian(frame, 3, 3);
      const int64_t width = ReadLittleEndian(frame, 6, 3), height = ReadLittleEndian(frame, 9, 3);
      if (frame.size() < 16 || !FindPicture(frame.substr(16), file)) {
        if (frame.size() < 16) {
          file->trouble = "it is cut off inside its first frame";
          file->cut_off = true;
        }
        return;
      }
      file->x = static_cast<int>(2 * x);
      file->y = static_cast<int>(2 * y);
      if (width + 1 != file->frame_width || height + 1 != file->frame_height) {
        file->stream = {};
        file->trouble = "its first frame has another size than its picture";
      }
      return;
    }
    at += 8 + length + (length & 1);
  }
  file->trouble = "it ends before its first frame";
  file->cut_off = true;
}

// Returns the orientation. The flags select which chunks count.
int Orientation(std::string_view chunks, bool exif, bool xmp) {
  OrientationTags tags;
  for (size_t at = 0; at + 8 <= chunks.size();) {
    const std::string_view type = Slice(chunks, at, 4);
    const size_t length = static_cast<size_t>(ReadLittleEndian(chunks, at + 4, 4));
    if (exif && type == "EXIF") tags.AddExif(Slice(chunks, at + 8, length));
    if (xmp && type == "XMP ") tags.AddXmp(Slice(chunks, at + 8, length));
    at += 8 + length + (length & 1);
  }
  return tags.orientation();
}

}  // namespace

absl::StatusOr<WebpFile> ReadWebpFile(std::string_view bytes) {
  const absl::Status cut_off =
      WithFault(Fault::kTruncatedImage,
                absl::InvalidArgumentError("the WebP ends inside its header; the file is cut off or overwritten"));
  WebpFile file;
  const std::string_view first = Slice(bytes, 12, 4);
  if (first == "VP8X") {
    const int64_t flags = ReadLittleEndian(bytes, 20, 1);
    const int64_t width = ReadLittleEndian(bytes, 24, 3), height = ReadLittleEndian(bytes, 27, 3);
    if (height < 0) return cut_off;
    file.width = static_cast<int>(width) + 1;
    file.height = static_cast<int>(height) + 1;
    file.alpha = (flags & 0x10) != 0;
    const size_t rest = 20 + static_cast<size_t>(ReadLittleEndian(bytes, 16, 4));
    const std::string_view chunks = Slice(bytes, rest + (rest & 1), bytes.size());
    if ((flags & 0x0C) != 0) file.orientation = Orientation(chunks, (flags & 0x08) != 0, (flags & 0x04) != 0);
    if ((flags & 0x02) != 0) {
      FindFirstFrame(chunks, &file);
    } else {
      FindPicture(chunks, &file);
      if (!file.stream.empty() && (file.frame_width != file.width || file.frame_height != file.height)) {
        file.stream = {};
        file.trouble = "its picture and its header differ in size";
      }
    }
  } else if (first == "VP8 " || first == "VP8L") {
    const std::string_view stream = Slice(bytes, 20, bytes.size());
    const Size size = first == "VP8 " ? Vp8Size(stream) : Vp8lSize(stream);
    if (size.width <= 0 || size.height <= 0) return cut_off;
    file.width = static_cast<int>(size.width);
    file.height = static_cast<int>(size.height);
    file.alpha = first == "VP8L" && (ReadLittleEndian(stream, 4, 1) & 0x10) != 0;
    FindPicture(Slice(bytes, 12, bytes.size()), &file);
  } else {
    return cut_off;
  }
  const bool inside =
      file.x + int64_t{file.frame_width} <= file.width && file.y + int64_t{file.frame_height} <= file.height;
  if (!file.stream.empty() && !inside) {
    file.stream = {};
    file.trouble = "its picture is outside its canvas";
  }
  return file;
}

}  // namespace penstock::image
