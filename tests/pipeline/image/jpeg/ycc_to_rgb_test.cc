// Compares the vector conversion with libjpeg's arithmetic. jpeg_scan_test compares decodes with this conversion with
// libjpeg's own decodes.
#include "pipeline/image/jpeg/ycc_to_rgb.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "base/philox.h"

namespace penstock::image {
namespace {

uint8_t Clamp(int value) { return static_cast<uint8_t>(std::clamp(value, 0, 255)); }

// Follows jdcolor.c.
void Pixel(int y, int cb, int cr, uint8_t* rgb) {
  cb -= 128;
  cr -= 128;
  rgb[0] = Clamp(y + ((91881 * cr + 32768) >> 16));
  rgb[1] = Clamp(y + ((-22554 * cb - 46802 * cr + 32768) >> 16));
  rgb[2] = Clamp(y + ((116130 * cb + 32768) >> 16));
}

TEST(YccToRgb, EveryColorMatchesLibjpeg) {
  if (!HasYccToRgb()) GTEST_SKIP() << "no AVX-512 VBMI";
  std::array<uint8_t, 256> lumas, blues, reds;
  std::array<uint8_t, 768> wanted, made;
  for (int y = 0; y < 256; ++y) lumas[static_cast<size_t>(y)] = static_cast<uint8_t>(y);
  for (int cb = 0; cb < 256; ++cb) {
    for (int cr = 0; cr < 256; ++cr) {
      blues.fill(static_cast<uint8_t>(cb));
      reds.fill(static_cast<uint8_t>(cr));
      YccToRgb(lumas.data(), blues.data(), reds.data(), lumas.size(), made.data());
      for (int y = 0; y < 256; ++y) Pixel(y, cb, cr, &wanted[static_cast<size_t>(3 * y)]);
      ASSERT_EQ(std::memcmp(made.data(), wanted.data(), wanted.size()), 0) << "Cb " << cb << " Cr " << cr;
    }
  }
}

TEST(YccToRgb, ConvertsAnyWidthAndWritesNothingAfterTheRow) {
  if (!HasYccToRgb()) GTEST_SKIP() << "no AVX-512 VBMI";
  SampleRandom random(9, 0, 0);
  for (size_t width = 0; width <= 300; ++width) {
    // Exact allocations on the heap, so that a sanitizer detects accesses after their ends.
    std::array<std::unique_ptr<uint8_t[]>, 3> rows;
    for (auto& row : rows) {
      row.reset(new uint8_t[width]);
      for (size_t x = 0; x < width; ++x) row[x] = static_cast<uint8_t>(random.Next32());
    }
    const std::unique_ptr<uint8_t[]> made(new uint8_t[3 * width + 1]);
    made[3 * width] = 0x5A;
    YccToRgb(rows[0].get(), rows[1].get(), rows[2].get(), width, made.get());
    for (size_t x = 0; x < width; ++x) {
      uint8_t wanted[3];
      Pixel(rows[0][x], rows[1][x], rows[2][x], wanted);
      ASSERT_EQ(std::memcmp(wanted, &made[3 * x], 3), 0) << "pixel " << x << " of " << width;
    }
    EXPECT_EQ(made[3 * width], 0x5A);
  }
}

}  // namespace
}  // namespace penstock::image
