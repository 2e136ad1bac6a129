#include "pipeline/image/jpeg/jpeg_encoder.h"

#include <gtest/gtest.h>

#include "base/philox.h"
#include "pipeline/image/image_header.h"
#include "pipeline/image/jpeg/jpeg_decoder.h"
#include "tests/pipeline/image/jpeg_maker.h"

namespace penstock::image {
namespace {

using Pixels = std::vector<uint8_t>;

ImageView View(const Pixels& pixels, int width, int height, int channels) {
  return {pixels.data(), width, height, channels, static_cast<size_t>(width) * static_cast<size_t>(channels)};
}

Pixels Decoded(std::string_view jpeg, int width, int height, int channels) {
  Pixels out(static_cast<size_t>(width * height * channels));
  JpegDecoder decoder;
  const auto done = decoder.Decode(jpeg, {0, 0, width, height}, {.channels = channels}, out.data(),
                                   static_cast<size_t>(width * channels));
  EXPECT_TRUE(done.ok()) << done.status().ToString();
  return out;
}

TEST(JpegEncoder, OptimizedHuffmanTablesChangeOnlyTheSize) {
  for (const int channels : {1, 3}) {
    const Pixels pixels = MakePixels(75, 41, channels, 4);
    const ImageView view = View(pixels, 75, 41, channels);
    const auto optimized = EncodeJpeg(view, {.quality = 80});
    const auto standard = EncodeJpeg(view, {.quality = 80, .optimize = false});
    ASSERT_TRUE(optimized.ok() && standard.ok());
    EXPECT_LT(optimized->size(), standard->size());
    EXPECT_EQ(Decoded(*optimized, 75, 41, channels), Decoded(*standard, 75, 41, channels));
    Pixels buffer(JpegBufferBytes(75, 41));
    const auto placed = EncodeJpegInto(view, {.quality = 80}, buffer.data(), buffer.size());
    ASSERT_TRUE(placed.ok());
    EXPECT_EQ(*placed, *optimized);
  }
}

TEST(JpegEncoder, FitsItsBufferAtAnyQuality) {
  for (const int side : {1, 7, 16, 33}) {
    Pixels noise(static_cast<size_t>(side * side * 3));
    SampleRandom random(3, 1, 0);
    for (uint8_t& value : noise) value = static_cast<uint8_t>(random.Next32());
    Pixels buffer(JpegBufferBytes(side, side));
    for (const int quality : {1, 50, 100}) {
      for (const bool optimize : {false, true}) {
        const JpegEncodeOptions options = {.quality = quality, .optimize = optimize};
        const auto jpeg = EncodeJpegInto(View(noise, side, side, 3), options, buffer.data(), buffer.size());
        ASSERT_TRUE(jpeg.ok()) << jpeg.status().ToString();
        EXPECT_EQ(jpeg->substr(0, 2), "\xFF\xD8");
      }
    }
  }
}

TEST(JpegEncoder, WritesTheOrientation) {
  const Pixels pixels = MakePixels(16, 8, 3, 4);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const auto jpeg = EncodeJpeg(View(pixels, 16, 8, 3), {.orientation = orientation});
    ASSERT_TRUE(jpeg.ok());
    EXPECT_EQ(ProbeImage(*jpeg)->orientation, orientation);
  }
}

TEST(JpegEncoder, RejectsInvalidImagesAndOptions) {
  const Pixels pixels(70000 * 3, 0);
  EXPECT_EQ(EncodeJpeg(View(pixels, 4, 4, 3), {.quality = 0}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(EncodeJpeg(View(pixels, 4, 4, 3), {.quality = 101}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(EncodeJpeg(View(pixels, 0, 4, 3), {}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(EncodeJpeg(View(pixels, 4, 4, 2), {}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(EncodeJpeg(View(pixels, 70000, 1, 3), {}).status().code(), absl::StatusCode::kInvalidArgument);
  Pixels small(8);
  EXPECT_EQ(EncodeJpegInto(View(pixels, 64, 64, 3), {}, small.data(), small.size()).status().code(),
            absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace penstock::image
