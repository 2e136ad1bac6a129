// Compares with libspng. An image that the reader accepts has libspng's pixels. The reader rejects every image that
// libspng rejects.
#include "pipeline/image/png/png_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "pipeline/image/copy_rows.h"
#include "pipeline/image/formats/png.h"
#include "tests/pipeline/image/png/png_maker.h"
#include "tests/pipeline/image/reference.h"

namespace penstock::image {
namespace {

// Returns numbers of type uint32_t. The result type of std::mt19937 is wider.
class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  uint32_t operator()() { return static_cast<uint32_t>(engine_()); }

 private:
  std::mt19937 engine_;
};

struct ImageRecipe {
  int color = 2, depth = 8;
  uint32_t width = 40, height = 30;
  int filters = 5;  // each row has a random filter below this number; 6: Paeth alone
  int level = 6;
  size_t piece = 500;
};

// Makes a PNG of random rows. Any bytes are valid rows.
std::string MakePng(const ImageRecipe& recipe, uint32_t seed = 1) {
  Random random(seed);
  std::string rows;
  const size_t row_bytes = PngRowBytes(recipe.width, recipe.color, recipe.depth);
  for (uint32_t y = 0; y < recipe.height; ++y) {
    rows.push_back(static_cast<char>(recipe.filters == 6 ? 4 : random() % static_cast<uint32_t>(recipe.filters)));
    for (size_t i = 0; i < row_bytes; ++i) rows.push_back(static_cast<char>(random() % (random() % 3 == 0 ? 256 : 6)));
  }
  std::string png = PngHeader(recipe.width, recipe.height, recipe.color, recipe.depth, false);
  if (recipe.color == 3) {
    std::string palette;
    for (int i = 0; i < 3 << recipe.depth; ++i) palette.push_back(static_cast<char>(random()));
    png += PngChunk("PLTE", palette);
  }
  return WrapPng(png, ZlibStream(rows, recipe.level), recipe.piece);
}

struct Decoded {
  bool ok = false;
  std::vector<uint8_t> pixels;
};

Decoded Read(PngReader* reader, const std::string& png, const ImageHeader& header, const Rect& rect, int channels) {
  Decoded decoded;
  const size_t row = static_cast<size_t>(rect.width * channels);
  decoded.pixels.resize(row * static_cast<size_t>(rect.height));
  ImageCopier copier(decoded.pixels.data(), row);
  decoded.ok = reader->Read(png, header, rect, channels, &copier);
  return decoded;
}

Decoded ReadSlowly(const std::string& png, const ImageHeader& header, const Rect& rect, int channels) {
  Decoded decoded;
  const size_t row = static_cast<size_t>(rect.width * channels);
  decoded.pixels.resize(row * static_cast<size_t>(rect.height));
  ImageCopier copier(decoded.pixels.data(), row);
  decoded.ok = DecodePngSlowly(png, header, rect, channels, &copier).ok();
  return decoded;
}

std::vector<Rect> Rects(const ImageHeader& header, Random* random) {
  std::vector<Rect> rects = {{0, 0, header.width, header.height}};
  for (int i = 0; i < 6; ++i) {
    Rect rect;
    rect.x = static_cast<int>((*random)() % static_cast<uint32_t>(header.width));
    rect.y = static_cast<int>((*random)() % static_cast<uint32_t>(header.height));
    rect.width = 1 + static_cast<int>((*random)() % static_cast<uint32_t>(header.width - rect.x));
    rect.height = 1 + static_cast<int>((*random)() % static_cast<uint32_t>(header.height - rect.y));
    rects.push_back(rect);
  }
  return rects;
}

TEST(PngReader, EveryKindHasLibspngsPixelsInEveryRectangle) {
  const std::pair<int, int> kinds[] = {{0, 1}, {0, 2}, {0, 4}, {0, 8}, {0, 16}, {2, 8}, {2, 16}, {3, 1},
                                       {3, 2}, {3, 4}, {3, 8}, {4, 8}, {4, 16}, {6, 8}, {6, 16}};
  PngReader reader;
  Random random(3);
  for (const auto& [color, depth] : kinds) {
    for (const int filters : {1, 5, 6}) {
      for (const uint32_t width : {1u, 2u, 7u, 64u, 333u}) {
        const ImageRecipe recipe{.color = color,
                                 .depth = depth,
                                 .width = width,
                                 .height = 1 + random() % 60,
                                 .filters = filters,
                                 .level = static_cast<int>(random() % 10),
                                 .piece = 1 + random() % 3000};
        const std::string png = MakePng(recipe, random());
        const ImageHeader header = *ProbeImage(png);
        for (const Rect& rect : Rects(header, &random)) {
          for (const int channels : {3, 1}) {
            SCOPED_TRACE(testing::Message()
                         << "color " << color << ", " << depth << " bits, " << width << " x " << recipe.height
                         << ", rectangle " << rect.x << "," << rect.y << " " << rect.width << " x " << rect.height);
            const Decoded ours = Read(&reader, png, header, rect, channels);
            const Decoded theirs = ReadSlowly(png, header, rect, channels);
            ASSERT_TRUE(theirs.ok);
            ASSERT_TRUE(ours.ok);
            ASSERT_TRUE(ours.pixels == theirs.pixels);
          }
        }
      }
    }
  }
}

TEST(PngReader, HoldsAtMostTheBookedBytes) {
  for (const uint32_t width : {1u, 100u, 5000u}) {
    const std::string png = MakePng({.color = 6, .depth = 16, .width = width, .height = 40});
    const ImageHeader header = *ProbeImage(png);
    PngReader reader;
    ASSERT_TRUE(Read(&reader, png, header, {0, 0, header.width, header.height}, 3).ok);
    EXPECT_LE(reader.held_bytes(), PngReader::Bytes(header)) << width;
  }
}

TEST(PngReader, HoldsAtMostTheBytesOfTheWidestImage) {
  PngReader reader;
  size_t bound = 0;
  for (const auto& [width, height] : {std::pair{1000u, 40u}, {1100u, 3u}, {7u, 40u}, {4000u, 1u}, {4500u, 40u}}) {
    const std::string png = MakePng({.color = 6, .depth = 16, .width = width, .height = height});
    const ImageHeader header = *ProbeImage(png);
    ASSERT_TRUE(Read(&reader, png, header, {0, 0, header.width, header.height}, 3).ok);
    bound = std::max(bound, PngReader::Bytes(header));
    EXPECT_LE(reader.held_bytes(), bound) << width;
  }
}

TEST(PngReader, FindsDamageOutsideTheRequestedRectangle) {
  const std::string png = MakePng({.width = 20, .height = 20, .piece = 100});
  const ImageHeader header = *ProbeImage(png);
  PngReader reader;
  for (size_t at = 8; at < png.size(); ++at) {
    std::string damaged = png;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    ASSERT_FALSE(Read(&reader, damaged, header, {2, 0, 5, 3}, 3).ok) << "byte " << at;
    ASSERT_FALSE(Read(&reader, png.substr(0, at), header, {2, 0, 5, 3}, 3).ok) << at << " bytes";
  }
  EXPECT_TRUE(Read(&reader, png, header, {2, 0, 5, 3}, 3).ok);
}

// The reader may reject an odd file that libspng accepts. DecodePng() then decodes the file with libspng.
TEST(PngReader, OddFilesGiveTheResultOfLibspng) {
  const std::string sound = MakePng({.width = 12, .height = 9});
  const std::string header_of = PngHeader(12, 9, 2, 8, false);
  std::string rows(static_cast<size_t>(9 * 37), '\1');
  const std::string palette(30, '\5'), indexes(static_cast<size_t>(9 * 13), '\0');
  const std::string indexed = PngHeader(12, 9, 3, 8, false);
  std::string wrong_sum = ZlibStream(rows, 6), wrong_filter = rows, much = rows + "more";
  wrong_sum.back() = static_cast<char>(wrong_sum.back() ^ 1);
  wrong_filter[37] = 5;
  const std::string too_dark = indexes.substr(0, 100) + "\x20" + indexes.substr(101);
  const std::pair<const char*, std::string> files[] = {
      {"a checksum of the stream is wrong", WrapPng(header_of, wrong_sum, 99)},
      {"an unknown filter", WrapPng(header_of, ZlibStream(wrong_filter, 6), 99)},
      {"too many rows", WrapPng(header_of, ZlibStream(much, 6), 99)},
      {"too few rows", WrapPng(header_of, ZlibStream(rows.substr(0, 300), 6), 99)},
      {"bytes after the stream", WrapPng(header_of, ZlibStream(rows, 6) + "behind", 99)},
      {"no stream", header_of + PngChunk("IEND", "")},
      {"two headers", header_of + WrapPng(header_of, ZlibStream(rows, 6), 99).substr(8)},
      {"no palette", WrapPng(indexed, ZlibStream(indexes, 6), 99)},
      {"two palettes",
       WrapPng(indexed + PngChunk("PLTE", palette) + PngChunk("PLTE", palette), ZlibStream(indexes, 6), 99)},
      {"a palette of two and a half colors",
       WrapPng(indexed + PngChunk("PLTE", palette.substr(0, 8)), ZlibStream(indexes, 6), 99)},
      {"a palette after the picture",
       WrapPng(indexed, ZlibStream(indexes, 6), 99).insert(60, PngChunk("PLTE", palette))},
      {"a color beyond the palette", WrapPng(indexed + PngChunk("PLTE", palette), ZlibStream(too_dark, 6), 99)},
      {"depth 3", WrapPng(PngHeader(12, 9, 0, 3, false), ZlibStream(rows, 6), 99)},
      {"color 5", WrapPng(PngHeader(12, 9, 5, 8, false), ZlibStream(rows, 6), 99)},
      {"a text chunk after the header", header_of + PngChunk("tEXt", "x") + WrapPng("", ZlibStream(rows, 6), 20)},
      {"bytes after the end", WrapPng(header_of, ZlibStream(rows, 6), 99) + "behind"},
      {"an end chunk with data", header_of + PngChunk("IDAT", ZlibStream(rows, 6)) + PngChunk("IEND", "x")},
  };
  PngReader reader;
  for (const auto& [what, png] : files) {
    SCOPED_TRACE(what);
    const auto header = ProbeImage(png);
    ASSERT_TRUE(header.ok());
    const Rect whole{0, 0, header->width, header->height};
    const Decoded theirs = ReadSlowly(png, *header, whole, 3), ours = Read(&reader, png, *header, whole, 3);
    if (ours.ok) {
      EXPECT_TRUE(theirs.ok);
      EXPECT_EQ(ours.pixels, theirs.pixels);
    }
    Decoded either = theirs;
    std::fill(either.pixels.begin(), either.pixels.end(), 0);
    ImageCopier copier(either.pixels.data(), static_cast<size_t>(header->width) * 3);
    EXPECT_EQ(DecodePng(&reader, png, *header, whole, 3, &copier).ok(), theirs.ok);
    if (theirs.ok) {
      EXPECT_EQ(either.pixels, theirs.pixels);
    }
  }
  EXPECT_TRUE(Read(&reader, sound, *ProbeImage(sound), {0, 0, 12, 9}, 3).ok);
}

// Reads the PNGs of the fuzz seeds. Each rectangle that the reader accepts has libspng's pixels, and the reader accepts
// more than 100 of them.
TEST(PngReader, FilesOfOtherProgramsHaveLibspngsPixels) {
  int taken = 0;
  PngReader reader;
  Random random(4);
  for (const std::string& name : ListFolder("tests/fuzz/image/seeds")) {
    if (!name.ends_with(".png")) continue;
    const std::string png = ReadBytes("tests/fuzz/image/seeds/" + name);
    const auto header = ProbeImage(png);
    if (!header.ok()) continue;
    for (const Rect& rect : Rects(*header, &random)) {
      const Decoded theirs = ReadSlowly(png, *header, rect, 3), ours = Read(&reader, png, *header, rect, 3);
      if (!ours.ok) continue;
      ++taken;
      ASSERT_TRUE(theirs.ok) << name;
      ASSERT_TRUE(ours.pixels == theirs.pixels) << name;
    }
  }
  EXPECT_GT(taken, 100);
}

}  // namespace
}  // namespace penstock::image
