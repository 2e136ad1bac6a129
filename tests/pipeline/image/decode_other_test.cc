#include "pipeline/image/decode_other.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "opencv2/imgcodecs.hpp"
#include "pipeline/image/color.h"
#include "pipeline/image/orientation.h"
#include "tests/pipeline/image/jpeg_maker.h"

namespace penstock {
namespace {

std::string Encode(const char* suffix, const cv::Mat& image) {
  std::vector<uint8_t> bytes;
  EXPECT_TRUE(cv::imencode(suffix, image, bytes, {cv::IMWRITE_WEBP_QUALITY, 101}));
  return {bytes.begin(), bytes.end()};
}

TEST(DecodeOther, LosslessFormatsGiveTheirPixels) {
  const std::vector<uint8_t> bgr = MakePixels(37, 23, 3, 4);
  const cv::Mat image(23, 37, CV_8UC3, const_cast<uint8_t*>(bgr.data()));
  for (const char* suffix : {".png", ".bmp", ".webp"}) {
    const std::string bytes = Encode(suffix, image);
    const auto header = ProbeImage(bytes);
    ASSERT_TRUE(header.ok()) << suffix << header.status();
    std::vector<uint8_t> rgb(bgr.size()), gray(37 * 23);
    ASSERT_TRUE(DecodeOther(bytes, *header, 3, rgb.data(), 37 * 3).ok());
    ASSERT_TRUE(DecodeOther(bytes, *header, 1, gray.data(), 37).ok());
    for (size_t i = 0; i < gray.size(); ++i) {
      ASSERT_EQ(rgb[3 * i], bgr[3 * i + 2]) << suffix;
      ASSERT_EQ(rgb[3 * i + 2], bgr[3 * i]);
      ASSERT_EQ(gray[i], Luma(rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2]));
    }
  }
}

TEST(DecodeOther, SixteenBitsBecomeTheirHighByteAndAlphaIsDropped) {
  cv::Mat wide(5, 7, CV_16UC1), alpha(5, 7, CV_8UC4);
  for (int y = 0; y < 5; ++y) {
    for (int x = 0; x < 7; ++x) {
      wide.at<uint16_t>(y, x) = static_cast<uint16_t>((y * 7 + x) * 1801 + 255);
      alpha.at<cv::Vec4b>(y, x) = {10, 20, 30, static_cast<uint8_t>(x * 36)};
    }
  }
  std::vector<uint8_t> rgb(5 * 7 * 3);
  const std::string wide_png = Encode(".png", wide), alpha_png = Encode(".png", alpha);
  ASSERT_TRUE(DecodeOther(wide_png, *ProbeImage(wide_png), 3, rgb.data(), 21).ok());
  for (size_t i = 0; i < 35; ++i) ASSERT_EQ(rgb[3 * i], (i * 1801 + 255) >> 8);
  ASSERT_TRUE(DecodeOther(alpha_png, *ProbeImage(alpha_png), 3, rgb.data(), 21).ok());
  for (size_t i = 0; i < 35; ++i) ASSERT_EQ(rgb[3 * i], 30);
}

TEST(DecodeOther, DamageIsAnError) {
  const std::string bytes = Encode(".png", cv::Mat(50, 60, CV_8UC3, cv::Scalar(1, 2, 3)));
  const auto header = ProbeImage(bytes);
  std::vector<uint8_t> rgb(50 * 60 * 3);
  for (const size_t length : {size_t{33}, bytes.size() / 2, bytes.size() - 30}) {
    EXPECT_EQ(DecodeOther(bytes.substr(0, length), *header, 3, rgb.data(), 180).code(), absl::StatusCode::kDataLoss)
        << length;
  }
  ImageHeader lie = *header;
  lie.width = 61;
  EXPECT_FALSE(DecodeOther(bytes, lie, 3, rgb.data(), 180).ok());
}

TEST(Orientation, PartsOfTheUprightImageComeFromTheirPartOfTheStored) {
  const int width = 5, height = 3;
  std::vector<uint8_t> stored(15);
  for (size_t i = 0; i < 15; ++i) stored[i] = static_cast<uint8_t>(i);
  const ImageView view{stored.data(), width, height, 1, 5};
  // The corners of the upright image, by EXIF's table.
  const uint8_t top_left[9] = {0, 0, 4, 14, 10, 0, 10, 14, 4};
  const uint8_t top_right[9] = {0, 4, 0, 10, 14, 10, 0, 4, 14};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const bool swap = SwapsSides(orientation);
    const int w = swap ? height : width, h = swap ? width : height;
    std::vector<uint8_t> upright(15);
    TurnUpright(view, orientation, upright.data(), static_cast<size_t>(w));
    EXPECT_EQ(upright[0], top_left[orientation]) << orientation;
    EXPECT_EQ(upright[static_cast<size_t>(w - 1)], top_right[orientation]) << orientation;
    for (int x = 0; x < w; ++x) {
      for (int y = 0; y < h; ++y) {
        const Rect rect{x, y, w - x, h - y};
        const Rect from = StoredRect(rect, orientation, width, height);
        ASSERT_TRUE(from.Inside(width, height));
        std::vector<uint8_t> part(static_cast<size_t>(rect.width * rect.height));
        TurnUpright(view.Crop(from), orientation, part.data(), static_cast<size_t>(rect.width));
        for (int j = 0; j < rect.height; ++j) {
          for (int i = 0; i < rect.width; ++i) {
            ASSERT_EQ(part[static_cast<size_t>(j * rect.width + i)], upright[static_cast<size_t>((y + j) * w + x + i)]);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace penstock
