// Makes PNG files of every kind for the tests. Header-only and independent of test libraries, because the fuzz target
// uses it too.
#ifndef PENSTOCK_TESTS_PIPELINE_IMAGE_PNG_PNG_MAKER_H_
#define PENSTOCK_TESTS_PIPELINE_IMAGE_PNG_PNG_MAKER_H_

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::image {

inline void AppendBigEndian(uint32_t number, std::string* to) {
  for (int shift = 24; shift >= 0; shift -= 8) to->push_back(static_cast<char>(number >> shift));
}

inline std::string PngChunk(std::string_view type, std::string_view data) {
  std::string chunk;
  AppendBigEndian(static_cast<uint32_t>(data.size()), &chunk);
  chunk.append(type).append(data);
  AppendBigEndian(static_cast<uint32_t>(
                      crc32(0, reinterpret_cast<const Bytef*>(chunk.data()) + 4, static_cast<uInt>(chunk.size() - 4))),
                  &chunk);
  return chunk;
}

inline std::string PngHeader(uint32_t width, uint32_t height, int color, int depth, bool interlaced) {
  std::string header;
  AppendBigEndian(width, &header);
  AppendBigEndian(height, &header);
  header += {static_cast<char>(depth), static_cast<char>(color), 0, 0, static_cast<char>(interlaced)};
  return std::string("\x89PNG\r\n\x1A\n", 8) + PngChunk("IHDR", header);
}

// Wraps picture data, a zlib stream, in chunks of at most `piece` bytes.
inline std::string WrapPng(const std::string& before, std::string_view stream, size_t piece) {
  std::string png = before;
  for (size_t at = 0; at < stream.size(); at += piece) png += PngChunk("IDAT", stream.substr(at, piece));
  return png + PngChunk("IEND", "");
}

inline int PngValues(int color) { return color == 2 ? 3 : color == 4 ? 2 : color == 6 ? 4 : 1; }

inline size_t PngRowBytes(uint32_t width, int color, int depth) {
  return (width * static_cast<size_t>(PngValues(color) * depth) + 7) / 8;
}

inline std::string ZlibStream(const std::string& bytes, int level) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string out(size, '\0');
  compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
            static_cast<uLong>(bytes.size()), level);
  out.resize(size);
  return out;
}

}  // namespace penstock::image

#endif  // PENSTOCK_TESTS_PIPELINE_IMAGE_PNG_PNG_MAKER_H_
