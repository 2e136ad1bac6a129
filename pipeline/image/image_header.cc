#include "pipeline/image/image_header.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/status_macros.h"
#include "pipeline/image/byte_reader.h"
#include "pipeline/image/headers/bmp_file.h"
#include "pipeline/image/headers/gif_file.h"
#include "pipeline/image/headers/orientation_tags.h"
#include "pipeline/image/headers/png_orientation.h"
#include "pipeline/image/headers/unread_format.h"
#include "pipeline/image/headers/vp8l_walk.h"
#include "pipeline/image/headers/webp_file.h"

namespace penstock::image {
namespace {

absl::Status CutOff(std::string_view format) {
  return WithFault(Fault::kTruncatedImage,
                   absl::InvalidArgumentError(absl::StrCat(
                       std::string(format), " ends inside its header; the file is cut off or overwritten")));
}

bool IsStartOfFrame(int marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

// ITU-T T.81, B.1.1.4 and B.2.2: markers with lengths, up to the first scan. Like libjpeg, it skips garbage between
// segments.
absl::StatusOr<ImageHeader> ProbeJpeg(std::string_view bytes) {
  constexpr std::string_view kExif("Exif\0\0", 6), kXmp("http://ns.adobe.com/xap/1.0/\0", 29);
  ImageHeader header{.format = ImageFormat::kJpeg};
  OrientationTags tags;
  bool have_frame = false;
  size_t at = 2;
  while (true) {
    while (at < bytes.size() && static_cast<uint8_t>(bytes[at]) != 0xFF) ++at;
    while (at < bytes.size() && static_cast<uint8_t>(bytes[at]) == 0xFF) ++at;
    if (at >= bytes.size()) {
      if (have_frame) break;
      return CutOff("the JPEG");
    }
    const int marker = static_cast<uint8_t>(bytes[at++]);
    if (marker == 0xD9) {
      if (have_frame) break;
      return absl::InvalidArgumentError("the JPEG holds no image before its end marker");
    }
    if (marker == 0x00 || marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8)) continue;
    int64_t length = ReadBigEndian(bytes, at, 2);
    if (length < 0) {
      if (have_frame) break;
      return CutOff("the JPEG");
    }
    length = std::max<int64_t>(length, 2);  // like libjpeg: a length below 2 covers only itself
    const std::string_view segment = Slice(bytes, at, static_cast<size_t>(length));
    if (IsStartOfFrame(marker) && !have_frame) {
      const int64_t height = ReadBigEndian(segment, 3, 2), width = ReadBigEndian(segment, 5, 2),
                    components = ReadBigEndian(segment, 7, 1);
      if (components < 0) return CutOff("the JPEG");
      if (height == 0 || width == 0 || components == 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("the JPEG's header declares ", width, " x ", height, " pixels, ", components, " components"));
      }
      header.width = static_cast<int>(width);
      header.height = static_cast<int>(height);
      header.components = static_cast<int>(components);
      header.progressive = marker == 0xC2 || marker == 0xC6 || marker == 0xCA || marker == 0xCE;
      have_frame = true;
    } else if (marker == 0xE1 && Slice(segment, 2, kExif.size()) == kExif) {
      tags.AddExif(segment.substr(2));
    } else if (marker == 0xE1 && Slice(segment, 2, kXmp.size()) == kXmp) {
      tags.AddXmp(segment.substr(2 + kXmp.size()));
    } else if (marker == 0xDA) {
      header.several_scans = header.progressive || ReadBigEndian(segment, 2, 1) < header.components;
      if (have_frame) break;
      return absl::InvalidArgumentError("the JPEG's first scan comes before its frame header");
    }
    at += segment.size();
  }
  header.orientation = tags.orientation();
  return header;
}

// PNG specification, 5.3 and 11.2.1: IHDR is the first chunk.
absl::StatusOr<ImageHeader> ProbePng(std::string_view bytes) {
  if (Slice(bytes, 12, 4) != "IHDR") return CutOff("the PNG");
  ImageHeader header{.format = ImageFormat::kPng};
  const int64_t width = ReadBigEndian(bytes, 16, 4), height = ReadBigEndian(bytes, 20, 4),
                color = ReadBigEndian(bytes, 25, 1);
  if (color < 0) return CutOff("the PNG");
  if (width <= 0 || height <= 0 || width > INT32_MAX || height > INT32_MAX) {
    return absl::InvalidArgumentError(absl::StrCat("the PNG's header declares ", width, " x ", height, " pixels"));
  }
  header.width = static_cast<int>(width);
  header.height = static_cast<int>(height);
  header.components = color == 0 ? 1 : color == 4 ? 2 : color == 6 ? 4 : 3;
  header.depth = static_cast<int>(ReadBigEndian(bytes, 24, 1));
  header.progressive = ReadBigEndian(bytes, 28, 1) == 1;
  header.orientation = PngOrientation(bytes);
  return header;
}

absl::StatusOr<ImageHeader> ProbeWebp(std::string_view bytes) {
  PS_ASSIGN_OR_RETURN(const WebpFile file, ReadWebpFile(bytes));
  ImageHeader header{.format = ImageFormat::kWebp,
                     .width = file.width,
                     .height = file.height,
                     .components = file.alpha ? 4 : 3,
                     .orientation = file.orientation};
  // If the stream ends inside the codes, the decoder reports the error.
  if (file.lossless && !file.stream.empty()) header.prefix_code_bytes = PrefixCodeBytes(file.stream).value_or(0);
  return header;
}

absl::StatusOr<ImageHeader> ProbeBmp(std::string_view bytes) {
  PS_ASSIGN_OR_RETURN(const BmpFile file, ReadBmpFile(bytes));
  return ImageHeader{.format = ImageFormat::kBmp, .width = file.width, .height = file.height, .components = 3};
}

absl::StatusOr<ImageHeader> ProbeGif(std::string_view bytes) {
  PS_ASSIGN_OR_RETURN(const GifFile file, ReadGifFile(bytes));
  return ImageHeader{.format = ImageFormat::kGif, .width = file.width, .height = file.height, .components = 3};
}

}  // namespace

std::string_view ImageFormatName(ImageFormat format) {
  switch (format) {
    case ImageFormat::kJpeg:
      return "JPEG";
    case ImageFormat::kPng:
      return "PNG";
    case ImageFormat::kWebp:
      return "WebP";
    case ImageFormat::kBmp:
      return "BMP";
    case ImageFormat::kGif:
      return "GIF";
  }
  return "image";
}

absl::StatusOr<ImageHeader> ProbeImage(std::string_view bytes) {
  if (bytes.empty()) return absl::InvalidArgumentError("the image has no bytes");
  if (Slice(bytes, 0, 3) == "\xFF\xD8\xFF") return ProbeJpeg(bytes);
  if (Slice(bytes, 0, 8) == std::string_view("\x89PNG\r\n\x1A\n", 8)) return ProbePng(bytes);
  if (Slice(bytes, 0, 4) == "RIFF" && Slice(bytes, 8, 4) == "WEBP") return ProbeWebp(bytes);
  if (Slice(bytes, 0, 2) == "BM") return ProbeBmp(bytes);
  if (Slice(bytes, 0, 6) == "GIF87a" || Slice(bytes, 0, 6) == "GIF89a") return ProbeGif(bytes);
  if (const std::string_view unread = UnreadFormat(bytes); !unread.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the image is ", std::string(unread), ", which is not read; convert it to PNG or JPEG"));
  }
  std::string start;
  for (const char c : Slice(bytes, 0, 8)) {
    absl::StrAppend(&start, start.empty() ? "" : " ", absl::Hex(static_cast<uint8_t>(c), absl::kZeroPad2));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("not a JPEG, PNG, WebP, BMP or GIF: its ", bytes.size(), " bytes start with ", start));
}

absl::Status CheckLimits(const ImageHeader& header, const ImageLimits& limits) {
  const uint64_t width = static_cast<uint64_t>(header.width);
  const uint64_t height = static_cast<uint64_t>(header.height);
  if (width > limits.max_side || height > limits.max_side) {
    return absl::ResourceExhaustedError(absl::StrCat("the image is ", width, " x ", height,
                                                     " pixels, over the limit of ", limits.max_side,
                                                     " on a side (limits.max_image_side)"));
  }
  if (width * height > limits.max_pixels) {
    return absl::ResourceExhaustedError(absl::StrCat("the image is ", width, " x ", height, " = ", width * height,
                                                     " pixels, over the limit of ", limits.max_pixels,
                                                     " (limits.max_image_pixels)"));
  }
  return absl::OkStatus();
}

}  // namespace penstock::image
