#include "pipeline/image/resize/quad_passes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/philox.h"
#include "hwy/targets.h"
#include "tests/pipeline/image/jpeg_maker.h"
#include "tests/pipeline/image/resize/random_resizes.h"

namespace penstock::image {
namespace {

// An image in a buffer of exactly its size, so that a sanitizer detects a read beyond it.
struct Pixels {
  std::unique_ptr<uint8_t[]> bytes;
  ImageView view;
  Pixels(int width, int height, int channels, uint32_t seed) {
    const std::vector<uint8_t> made = MakePixels(width, height, channels, seed);
    bytes = std::make_unique<uint8_t[]>(made.size());
    std::copy(made.begin(), made.end(), bytes.get());
    view = {bytes.get(), width, height, channels, static_cast<size_t>(width * channels)};
  }
  // Fills the image in memory order, alternately with `width` pixels of 0 and `width` pixels of 255.
  void MakeStripes(int width) {
    const size_t size = view.stride * static_cast<size_t>(view.height);
    for (size_t i = 0; i < size; ++i) bytes[i] = i / static_cast<size_t>(width * view.channels) % 2 == 0 ? 0 : 255;
  }
};

FilterTable TableOf(ResizeFilter filter, int in_size, int out_size, bool mirror) {
  FilterTable table;
  BuildFilterTable(filter, in_size, out_size, 0, out_size, mirror, &table);
  return table;
}

// Returns whether the pass supports these columns (BuildQuadColumns). If it does, expects the bytes of the scalar pass.
bool ColumnsAreScalar(const FilterTable& table, const ImageView& source) {
  QuadTable quads;
  QuadColumns columns;
  EXPECT_TRUE(BuildQuadTable(table, &quads));
  if (!BuildQuadColumns(table, quads, source.channels, source.row_bytes(), &columns)) return false;
  const size_t row = table.first.size() * static_cast<size_t>(source.channels);
  std::vector<uint8_t> wanted(row * static_cast<size_t>(source.height)), got(wanted.size());
  HorizontalPassScalar(table, source, wanted.data(), row);
  HorizontalQuads(columns, source, 0, got.data(), row);
  EXPECT_EQ(wanted, got) << source.width << " to " << table.first.size() << ", " << source.channels << " channels";
  return true;
}

class QuadPasses : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasQuadPasses()) GTEST_SKIP() << "this CPU has no AVX-512 with VNNI and VBMI";
  }
};

TEST_F(QuadPasses, ColumnsMatchTheScalarPass) {
  SampleRandom random(5, 6, 0);
  int made = 0;
  for (int round = 0; round < 400; ++round) {
    const int limit = round % 4 == 0 ? 40 : 300;
    const int in_width = Pick(&random, 1, limit), out_width = Pick(&random, 1, limit);
    const Pixels image(in_width, Pick(&random, 1, 9), round % 3 == 0 ? 1 : 3, static_cast<uint32_t>(round));
    const FilterTable table = TableOf(kFilters[round % 5], in_width, out_width, round % 2 == 1);
    made += ColumnsAreScalar(table, image.view) ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(made, 200);
}

// Covers tables of one, two and more words, with four taps in a word. Covers groups of outputs whose inputs span at
// most 64 bytes, at most 128, and more.
TEST_F(QuadPasses, ColumnsOfEveryScaleMatchTheScalarPass) {
  for (const ResizeFilter filter : kFilters) {
    for (const int channels : {1, 3}) {
      for (int in_width = 100; in_width < 900; in_width += 37) {
        const Pixels image(in_width, 5, channels, 7);
        const bool made = ColumnsAreScalar(TableOf(filter, in_width, 100, in_width % 2 == 1), image.view);
        EXPECT_TRUE(made || filter != ResizeFilter::kBilinear || in_width >= 600) << in_width;
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(QuadPasses, RowsMatchTheScalarPass) {
  SampleRandom random(7, 6, 0);
  for (int round = 0; round < 400; ++round) {
    const int limit = round % 2 == 0 ? 12 : 200;
    const int in_height = Pick(&random, 1, limit), out_height = Pick(&random, 1, limit);
    const int channels = round % 3 == 0 ? 1 : 3;
    const int narrowest = (static_cast<int>(kQuadRowBytes) + channels - 1) / channels;
    const Pixels image(narrowest + Pick(&random, 0, 90), in_height, channels, static_cast<uint32_t>(round));
    const FilterTable table = TableOf(kFilters[round % 5], in_height, out_height, false);
    QuadTable quads;
    ASSERT_TRUE(BuildQuadTable(table, &quads));
    const size_t row = image.view.row_bytes();
    std::vector<uint8_t> wanted(row * static_cast<size_t>(out_height)), got(wanted.size());
    VerticalPassScalar(table, {0, out_height}, image.view, 0, wanted.data(), row);
    VerticalQuads(table, quads, {0, out_height}, image.view, 0, got.data(), row);
    ASSERT_EQ(wanted, got) << in_height << " to " << out_height << ", " << row << " bytes";
  }
}

TEST_F(QuadPasses, ExtremeValuesSaturate) {
  Pixels image(64, 64, 3, 1);
  for (const int stripe : {4, 64 * 4}) {  // vertical stripes of 4 pixels, then horizontal ones of 4 rows
    image.MakeStripes(stripe);
    for (const ResizeFilter filter : kFilters) {
      for (const int size : {31, 64, 200}) {
        const FilterTable table = TableOf(filter, 64, size, false);
        ASSERT_TRUE(ColumnsAreScalar(table, image.view));
        QuadTable quads;
        ASSERT_TRUE(BuildQuadTable(table, &quads));
        const size_t row = image.view.row_bytes();
        std::vector<uint8_t> wanted(row * static_cast<size_t>(size)), got(wanted.size());
        VerticalPassScalar(table, {0, size}, image.view, 0, wanted.data(), row);
        VerticalQuads(table, quads, {0, size}, image.view, 0, got.data(), row);
        ASSERT_EQ(wanted, got);
      }
    }
  }
}

TEST_F(QuadPasses, DigitsAddUpToTheWeight) {
  FilterTable table;
  table.taps = 5;
  table.first = {0};
  table.count = {5};
  table.weight = {0, 1 << 22, -129, 8355711, -8421504};
  QuadTable quads;
  ASSERT_TRUE(BuildQuadTable(table, &quads));
  ASSERT_EQ(quads.words, 2);
  for (size_t tap = 0; tap < 8; ++tap) {
    const auto digit = [&](size_t d) { return static_cast<int8_t>(quads.quads[tap / 4].digit[d] >> 8 * (tap % 4)); };
    EXPECT_EQ((digit(2) * 256 + digit(1)) * 256 + digit(0), tap < 5 ? table.weight[tap] : 0);
  }
  table.weight[0] = 8355712;  // 127 * 65536 + 127 * 256 + 128
  EXPECT_FALSE(BuildQuadTable(table, &quads));
  table.weight[0] = -8421505;
  EXPECT_FALSE(BuildQuadTable(table, &quads));
}

}  // namespace
}  // namespace penstock::image
