#include "pipeline/image/png/png_chunks.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <cstring>

#include "pipeline/image/byte_reader.h"

namespace penstock::image {
namespace {

constexpr size_t kFrame = 12;  // length, type, CRC

struct Chunk {
  std::string_view type, data;
  size_t end = 0;

  bool Sound() const {
    const uint32_t crc = crc32_gzip_refl(0, reinterpret_cast<const uint8_t*>(type.data()), type.size() + data.size());
    return ReadBigEndian({data.data() + data.size(), 4}, 0, 4) == int64_t{crc};
  }
};

// Returns nullopt if the chunk is not completely inside the file.
std::optional<Chunk> ReadChunk(std::string_view png, size_t at) {
  const int64_t length = ReadBigEndian(png, at, 4);
  if (length < 0 || length > INT32_MAX) return std::nullopt;
  const size_t size = static_cast<size_t>(length);
  if (png.size() - at < kFrame || png.size() - at - kFrame < size) return std::nullopt;
  return Chunk{png.substr(at + 4, 4), png.substr(at + 8, size), at + kFrame + size};
}

// Returns whether the depth is allowed for the color type (PNG specification, table 11.1).
bool MakesSense(const PngLayout& layout) {
  switch (layout.color) {
    case PngColor::kGray:
      return layout.depth == 1 || layout.depth == 2 || layout.depth == 4 || layout.depth == 8 || layout.depth == 16;
    case PngColor::kPalette:
      return layout.depth == 1 || layout.depth == 2 || layout.depth == 4 || layout.depth == 8;
    case PngColor::kRgb:
    case PngColor::kGrayAlpha:
    case PngColor::kRgba:
      return layout.depth == 8 || layout.depth == 16;
  }
  return false;
}

bool ReadHeader(const Chunk& chunk, PngLayout* layout) {
  if (chunk.type != "IHDR" || chunk.data.size() != 13 || !chunk.Sound()) return false;
  const int64_t width = ReadBigEndian(chunk.data, 0, 4), height = ReadBigEndian(chunk.data, 4, 4);
  if (width <= 0 || height <= 0 || width > INT32_MAX || height > INT32_MAX) return false;
  layout->width = static_cast<int>(width);
  layout->height = static_cast<int>(height);
  layout->depth = static_cast<uint8_t>(chunk.data[8]);
  layout->color = static_cast<PngColor>(chunk.data[9]);
  const uint8_t interlace = static_cast<uint8_t>(chunk.data[12]);
  layout->interlaced = interlace == 1;
  return chunk.data[10] == 0 && chunk.data[11] == 0 && interlace <= 1 && MakesSense(*layout);
}

bool ReadPalette(const Chunk& chunk, PngLayout* layout) {
  const size_t size = chunk.data.size() / 3;
  if (layout->palette_size != 0 || chunk.data.size() % 3 != 0 || size == 0 || size > size_t{1} << layout->depth) {
    return false;
  }
  layout->palette_size = static_cast<int>(size);
  std::memcpy(layout->palette.data(), chunk.data.data(), chunk.data.size());
  return true;
}

}  // namespace

int PngLayout::values() const {
  switch (color) {
    case PngColor::kGray:
    case PngColor::kPalette:
      return 1;
    case PngColor::kGrayAlpha:
      return 2;
    case PngColor::kRgb:
      return 3;
    case PngColor::kRgba:
      return 4;
  }
  return 1;
}

std::optional<PngLayout> ReadPngLayout(std::string_view bytes) {
  PngLayout layout;
  std::optional<Chunk> chunk = ReadChunk(bytes, 8);
  if (!chunk || !ReadHeader(*chunk, &layout)) return std::nullopt;
  bool data = false;
  while (true) {
    chunk = ReadChunk(bytes, chunk->end);
    // Checks chunks that do not affect the pixels too, because damage may have changed the type of one that does.
    if (!chunk || !chunk->Sound() || chunk->type == "IHDR") return std::nullopt;
    if (chunk->type == "IDAT") {
      data = true;
    } else if (chunk->type == "PLTE" && layout.color == PngColor::kPalette) {
      if (data || !ReadPalette(*chunk, &layout)) return std::nullopt;
    } else if (chunk->type == "IEND") {
      const bool palette = layout.color != PngColor::kPalette || layout.palette_size > 0;
      if (!data || !palette || !chunk->data.empty()) return std::nullopt;
      return layout;
    }
  }
}

std::string_view PngData::Next() {
  while (const auto chunk = ReadChunk(png_, at_)) {
    if (chunk->type == "IEND") break;
    at_ = chunk->end;
    if (chunk->type == "IDAT" && !chunk->data.empty()) return chunk->data;
  }
  return {};
}

}  // namespace penstock::image
