#include "pipeline/image/image_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/pipeline/image/jpeg_maker.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

// An EXIF APP1 segment of one directory entry.
std::string ExifSegment(int orientation, bool little) {
  std::string tiff = little ? std::string("II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0", 18)
                            : std::string("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01", 18);
  tiff += little ? std::string{static_cast<char>(orientation), 0, 0, 0}
                 : std::string{0, static_cast<char>(orientation), 0, 0};
  tiff += std::string(4, '\0');
  const std::string body = std::string("Exif\0\0", 6) + tiff;
  return std::string("\xFF\xE1\0", 3) + static_cast<char>(body.size() + 2) + body;
}

TEST(ProbeImage, ReadsJpegHeaders) {
  const auto header = ProbeImage(MakeJpeg({.width = 123, .height = 45, .progressive = true}));
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->format, ImageFormat::kJpeg);
  EXPECT_EQ(header->width, 123);
  EXPECT_EQ(header->height, 45);
  EXPECT_EQ(header->components, 3);
  EXPECT_TRUE(header->progressive);
  EXPECT_TRUE(header->several_scans);
  EXPECT_EQ(header->orientation, 1);
  EXPECT_FALSE(ProbeImage(MakeJpeg({.width = 9, .height = 9}))->several_scans);
  EXPECT_TRUE(ProbeImage(MakeJpeg({.width = 9, .height = 9, .separate_scans = true}))->several_scans);
  EXPECT_EQ(ProbeImage(MakeJpeg({.width = 9, .height = 9, .components = 4}))->components, 4);
}

TEST(ProbeImage, ReadsTheExifOrientation) {
  const std::string plain = MakeJpeg({.width = 12, .height = 8});
  for (int orientation = 0; orientation <= 9; ++orientation) {
    for (const bool little : {false, true}) {
      const auto header = ProbeImage(plain.substr(0, 2) + ExifSegment(orientation, little) + plain.substr(2));
      ASSERT_TRUE(header.ok());
      EXPECT_EQ(header->orientation, orientation >= 1 && orientation <= 8 ? orientation : 1);
    }
  }
}

TEST(ProbeImage, EveryPrefixIsAnErrorOrTheHeader) {
  const std::string bytes = ExifSegment(6, true);
  std::string jpeg = MakeJpeg({.width = 300, .height = 200});
  jpeg = jpeg.substr(0, 2) + bytes + jpeg.substr(2);
  for (size_t length = 0; length <= std::min<size_t>(jpeg.size(), 800); ++length) {
    const auto header = ProbeImage(std::string_view(jpeg).substr(0, length));
    if (header.ok()) {
      EXPECT_EQ(header->width, 300);
      EXPECT_EQ(header->height, 200);
    }
  }
}

TEST(ProbeImage, ReadsTheOtherFormats) {
  const std::string png("\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR\0\0\x01\x2C\0\0\0\xC8\x08\x06\0\0\0", 29);
  ASSERT_TRUE(ProbeImage(png).ok());
  EXPECT_EQ(ProbeImage(png)->width, 300);
  EXPECT_EQ(ProbeImage(png)->height, 200);
  EXPECT_EQ(ProbeImage(png)->components, 4);
  const std::string bmp =
      std::string("BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x05\0\0\0\xFD\xFF\xFF\xFF\x01\0\x18\0", 30) +
      std::string(24, '\0');
  ASSERT_TRUE(ProbeImage(bmp).ok());
  EXPECT_EQ(ProbeImage(bmp)->width, 5);
  EXPECT_EQ(ProbeImage(bmp)->height, 3);
  const std::string webp("RIFF\x20\0\0\0WEBPVP8X\x0A\0\0\0\x10\0\0\0\x0F\0\0\x1F\0\0", 30);
  ASSERT_TRUE(ProbeImage(webp).ok());
  EXPECT_EQ(ProbeImage(webp)->width, 16);
  EXPECT_EQ(ProbeImage(webp)->height, 32);
  // The frame reaches beyond the screen.
  const std::string gif("GIF89a\x05\0\x04\0\0\0\0,\x03\0\x01\0\x04\0\x02\0\0\x02", 24);
  ASSERT_TRUE(ProbeImage(gif).ok()) << ProbeImage(gif).status();
  EXPECT_EQ(ProbeImage(gif)->width, 7);
  EXPECT_EQ(ProbeImage(gif)->height, 4);
  for (const std::string& whole : {png, bmp, webp, gif}) {
    for (size_t length = 0; length < whole.size(); ++length) (void)ProbeImage(whole.substr(0, length));
  }
}

TEST(ProbeImage, SaysWhatItSawInstead) {
  EXPECT_THAT(std::string(ProbeImage("").status().message()), HasSubstr("no bytes"));
  EXPECT_THAT(std::string(ProbeImage("GIF89a").status().message()), HasSubstr("before its first frame"));
  EXPECT_THAT(std::string(ProbeImage("GIF90a").status().message()), HasSubstr("47 49 46"));
  EXPECT_THAT(std::string(ProbeImage(std::string("II*\0", 4)).status().message()), HasSubstr("TIFF"));
  EXPECT_FALSE(ProbeImage("\xFF\xD8\xFF\xD9").ok());
}

TEST(CheckLimits, NamesSizeAndLimit) {
  const ImageHeader header{.width = 1000, .height = 500};
  EXPECT_TRUE(CheckLimits(header, {}).ok());
  EXPECT_TRUE(CheckLimits(header, {.max_pixels = 500000, .max_side = 1000}).ok());
  EXPECT_THAT(std::string(CheckLimits(header, {.max_pixels = 499999}).message()), HasSubstr("499999"));
  EXPECT_THAT(std::string(CheckLimits(header, {.max_side = 999}).message()), HasSubstr("999"));
}

}  // namespace
}  // namespace penstock
