// The functions that compute an image's memory from its header return upper bounds of the actual allocations of our
// code, libjpeg, libspng and libwebp together. The fuzz target `image` checks hostile files against the same bounds.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/image/formats/decode_other.h"
#include "pipeline/image/formats/png.h"
#include "pipeline/image/image_header.h"
#include "pipeline/image/jpeg/jpeg_decoder.h"
#include "tests/pipeline/image/jpeg_maker.h"
#include "tests/pipeline/image/picture_maker.h"
#include "tests/pipeline/image/reference.h"
#include "tests/support/allocation_peak.h"

namespace penstock::image {
namespace {

struct Size {
  int width, height;
};

// Narrow, wide and tall sizes, and one with many coefficients.
constexpr Size kSizes[] = {{1, 1}, {17, 9}, {320, 240}, {2000, 24}, {24, 2000}, {500, 375}};

std::vector<JpegRecipe> RecipesOf(const Size& size) {
  std::vector<JpegRecipe> recipes;
  for (const auto& [horizontal, vertical] : {std::pair{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}, {4, 2}, {1, 4}}) {
    for (const bool progressive : {false, true}) {
      recipes.push_back({.width = size.width,
                         .height = size.height,
                         .horizontal = horizontal,
                         .vertical = vertical,
                         .progressive = progressive});
    }
  }
  recipes.push_back({.width = size.width, .height = size.height, .components = 1});
  recipes.push_back({.width = size.width, .height = size.height, .components = 4, .horizontal = 2, .vertical = 2});
  recipes.push_back({.width = size.width, .height = size.height, .horizontal = 2, .separate_scans = true});
  return recipes;
}

TEST(ImageMemory, AJpegTakesAtMostTheBytesBookedFromItsHeader) {
  for (const Size& size : kSizes) {
    for (const JpegRecipe& recipe : RecipesOf(size)) {
      const std::string bytes = MakeJpeg(recipe);
      const auto header = ProbeImage(bytes);
      ASSERT_TRUE(header.ok());
      const size_t bound = JpegDecoderBytes(*header);
      for (const Rect& rect : {Rect{0, 0, size.width, size.height},
                               Rect{size.width / 3, size.height / 3, (size.width + 2) / 3, (size.height + 2) / 3}}) {
        std::vector<uint8_t> out(static_cast<size_t>(rect.width) * static_cast<size_t>(rect.height) * 3);
        const support::AllocationPeak peak;
        JpegDecoder decoder;
        const auto damaged = decoder.Decode(bytes, rect, {}, out.data(), static_cast<size_t>(rect.width) * 3);
        const size_t taken = peak.bytes();
        ASSERT_TRUE(damaged.ok()) << damaged.status();
        EXPECT_GT(taken, size_t{1000}) << "nothing was counted";
        EXPECT_LE(taken, bound) << size.width << " x " << size.height << ", " << recipe.components << " components of "
                                << recipe.horizontal << " x " << recipe.vertical << ", progressive "
                                << recipe.progressive;
      }
      // Baseline files are read row by row: memory grows with the width alone.
      if (!recipe.progressive && !recipe.separate_scans) {
        EXPECT_LE(bound, static_cast<size_t>(size.width + 64) * 400 + (size_t{432} << 10));
      }
    }
  }
}

TEST(ImageMemory, OtherFormatsTakeAtMostTheBytesBookedFromTheirHeaders) {
  for (const Size& size : kSizes) {
    const std::vector<uint8_t> rgb = MakePixels(size.width, size.height, 3, 3);
    const size_t row = static_cast<size_t>(size.width) * 3;
    const std::pair<const char*, std::string> files[] = {
        {"PNG", *EncodePng({rgb.data(), size.width, size.height, 3, row})},
        {"gray PNG", *EncodePng({rgb.data(), size.width, size.height, 1, row})},
        {"BMP", MakeBmp(size.width, size.height, 3)},
        {"GIF", MakeGif(size.width, size.height, 3)},
        {"WebP", MakeWebp(size.width, size.height, {.method = 1})},
        {"WebP with alpha", MakeWebp(size.width, size.height, {.channels = 4, .method = 1})},
        {"lossy WebP", MakeWebp(size.width, size.height, {.lossless = false})},
        {"lossy WebP with alpha", MakeWebp(size.width, size.height, {.channels = 4, .lossless = false})}};
    for (const auto& [name, bytes] : files) {
      const auto header = ProbeImage(bytes);
      ASSERT_TRUE(header.ok()) << name << header.status();
      std::vector<uint8_t> out(row * static_cast<size_t>(size.height));
      for (const int channels : {1, 3}) {
        const support::AllocationPeak peak;
        const absl::Status status = DecodeOther(bytes, *header, channels, out.data(), row);
        const size_t taken = peak.bytes();
        ASSERT_TRUE(status.ok()) << name << status;
        EXPECT_LE(taken, DecodeOtherBytes(*header)) << name << " " << size.width << " x " << size.height;
        if (header->format == ImageFormat::kPng || header->format == ImageFormat::kWebp) {
          EXPECT_GT(taken, size_t{1000}) << name << ": nothing was counted";
        }
      }
    }
  }
}

// Reads files of every kind of every format. Some of them have faults.
TEST(ImageMemory, OddAndBrokenFilesTakeAtMostTheBookedBytes) {
  int files = 0;
  for (const std::string& name : ListFolder("tests/fuzz/image/seeds")) {
    const std::string whole = ReadBytes("tests/fuzz/image/seeds/" + name);
    if (!ProbeImage(whole).ok() || ProbeImage(whole)->format == ImageFormat::kJpeg) continue;
    ++files;
    for (const size_t length : {whole.size(), whole.size() * 3 / 4, whole.size() / 2}) {
      const std::string bytes = whole.substr(0, length);
      const auto header = ProbeImage(bytes);
      if (!header.ok()) continue;
      const size_t row = static_cast<size_t>(header->width) * 3;
      std::vector<uint8_t> out(row * static_cast<size_t>(header->height));
      for (const int channels : {1, 3}) {
        const support::AllocationPeak peak;
        (void)DecodeOther(bytes, *header, channels, out.data(), row);
        EXPECT_LE(peak.bytes(), DecodeOtherBytes(*header)) << name << ", " << length << " bytes of it";
      }
    }
  }
  EXPECT_GT(files, 200);
}

// Memory grows with the width alone, unless the pixels come in passes.
TEST(ImageMemory, APngTakesMemoryForAFewRows) {
  ImageHeader header{.format = ImageFormat::kPng, .width = 4000, .height = 4000, .components = 4};
  const size_t rows = DecodeOtherBytes(header);
  EXPECT_LE(rows, size_t{4000} * 128 + (size_t{256} << 10));
  header.height = 40000;
  EXPECT_EQ(DecodeOtherBytes(header), rows);
  header.progressive = true;
  EXPECT_GE(DecodeOtherBytes(header), size_t{4000} * 40000 * 3);
}

// A chunk of a PNG (PNG specification, 5.3).
std::string Chunk(const std::string& type, const std::string& data) {
  std::string chunk;
  const auto number = [&](uint32_t n) {
    for (int shift = 24; shift >= 0; shift -= 8) chunk.push_back(static_cast<char>(n >> shift));
  };
  number(static_cast<uint32_t>(data.size()));
  chunk += type + data;
  number(static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(chunk.data()) + 4, static_cast<uInt>(chunk.size() - 4))));
  return chunk;
}

std::string Deflated(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  EXPECT_EQ(
      compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()),
      Z_OK);
  out.resize(size);
  return out;
}

TEST(ImageMemory, ChunksOfAPngWithoutPixelsTakeNoMemory) {
  const std::vector<uint8_t> pixels = MakePixels(20, 10, 3, 3);
  const std::string plain = *EncodePng({pixels.data(), 20, 10, 3, 60});
  // A PNG library would inflate each of these to 4 MB, and keep up to a thousand of them.
  const std::string bomb = Chunk("zTXt", std::string("k\0\0", 3) + Deflated(std::string(4 << 20, ' ')));
  const size_t header_end = 8 + 25;
  std::string loaded = plain.substr(0, header_end);
  for (int i = 0; i < 5; ++i) loaded += bomb;
  loaded += plain.substr(header_end, plain.size() - header_end - 12) + bomb + plain.substr(plain.size() - 12);

  std::vector<uint8_t> expected(20 * 10 * 3), out(expected.size());
  ASSERT_TRUE(DecodeOther(plain, *ProbeImage(plain), 3, expected.data(), 60).ok());
  const auto header = ProbeImage(loaded);
  ASSERT_TRUE(header.ok());
  const support::AllocationPeak peak;
  ASSERT_TRUE(DecodeOther(loaded, *header, 3, out.data(), 60).ok());
  EXPECT_LE(peak.bytes(), DecodeOtherBytes(*header));
  EXPECT_EQ(out, expected);
}

TEST(AllocationPeak, CountsBytesThatAreLiveAtTheSameTime) {
  support::AllocationPeak peak;
  {
    const std::vector<char> a(1000), b(500);
    EXPECT_EQ(peak.live(), size_t{1500});
  }
  EXPECT_EQ(peak.live(), size_t{0});
  void* volatile block = std::malloc(100);
  block = std::realloc(block, 200);
  EXPECT_EQ(peak.live(), size_t{200});
  std::free(block);
  EXPECT_EQ(peak.live(), size_t{0});
  EXPECT_EQ(peak.bytes(), size_t{1500});
}

}  // namespace
}  // namespace penstock::image
