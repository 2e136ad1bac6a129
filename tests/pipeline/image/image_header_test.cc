#include "pipeline/image/image_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "tests/pipeline/image/jpeg_maker.h"

namespace penstock::image {
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

// A TIFF block of one directory entry.
std::string Tiff(int orientation) { return ExifSegment(orientation, true).substr(10); }

std::string Big4(size_t number) {
  return {static_cast<char>(number >> 24), static_cast<char>(number >> 16), static_cast<char>(number >> 8),
          static_cast<char>(number)};
}

std::string Chunk(const std::string& type, const std::string& data) { return Big4(data.size()) + type + data + "crc?"; }

// The orientation of a PNG with these chunks before or after its picture.
int PngOrientationOf(const std::string& chunks, bool behind = false) {
  const std::string start("\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR\0\0\x01\x2C\0\0\0\xC8\x08\x06\0\0\0crc?", 33);
  const std::string picture = Chunk("IDAT", "some bytes");
  const auto header = ProbeImage(start + (behind ? picture + chunks : chunks + picture) + Chunk("IEND", ""));
  EXPECT_TRUE(header.ok()) << header.status();
  return header.ok() ? header->orientation : 0;
}

std::string Deflated(const std::string& text) {
  uLongf size = compressBound(static_cast<uLong>(text.size()));
  std::string out(size, '\0');
  EXPECT_EQ(compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(text.data()),
                     static_cast<uLong>(text.size())),
            Z_OK);
  out.resize(size);
  return out;
}

std::string RawProfile(const std::string& block) {
  std::string hex = absl::BytesToHexString(block);
  for (size_t at = 72; at < hex.size(); at += 73) hex.insert(at, "\n");
  return "\nexif\n" + std::string(8, ' ') + "\n" + hex + "\n";
}

const std::string kZero(1, '\0');

TEST(ProbeImage, ReadsThePngOrientationFromAnyChunk) {
  const std::string profile = std::string("Raw profile type exif") + kZero, key = "XML:com.adobe.xmp" + kZero;
  const std::string exif = std::string("Exif\0\0", 6);
  for (const bool behind : {false, true}) {
    EXPECT_EQ(PngOrientationOf(Chunk("eXIf", Tiff(6)), behind), 6);
    EXPECT_EQ(PngOrientationOf(Chunk("tEXt", profile + RawProfile(exif + Tiff(3))), behind), 3);
    EXPECT_EQ(PngOrientationOf(Chunk("zTXt", profile + kZero + Deflated(RawProfile(exif + Tiff(8)))), behind), 8);
    EXPECT_EQ(PngOrientationOf(Chunk("iTXt", key + std::string(4, '\0') + "<tiff:Orientation>5<"), behind), 5);
    EXPECT_EQ(
        PngOrientationOf(Chunk("iTXt", key + std::string("\1\0en\0xmp\0", 9) + Deflated("<x tiff:Orientation=\"7\"/>")),
                         behind),
        7);
  }
  // EXIF has precedence, then the raw profile. XMP counts only if neither has the tag.
  const std::string xmp = Chunk("tEXt", key + "tiff:Orientation=\"2\""), plain_exif = Chunk("eXIf", "II*");
  EXPECT_EQ(PngOrientationOf(xmp), 2);
  EXPECT_EQ(PngOrientationOf(xmp + Chunk("eXIf", Tiff(4))), 4);
  EXPECT_EQ(PngOrientationOf(xmp + Chunk("eXIf", Tiff(9))), 1);
  EXPECT_EQ(PngOrientationOf(xmp + plain_exif), 2);
  EXPECT_EQ(PngOrientationOf(xmp + Chunk("tEXt", profile + RawProfile(Tiff(4)))), 4);
  EXPECT_EQ(PngOrientationOf(plain_exif + Chunk("tEXt", profile + RawProfile(Tiff(4)))), 1);
  // Invalid orientations.
  EXPECT_EQ(PngOrientationOf(Chunk("tEXt", profile + "no lines")), 1);
  EXPECT_EQ(PngOrientationOf(Chunk("zTXt", profile + kZero + "no zlib")), 1);
  EXPECT_EQ(PngOrientationOf(Chunk("iTXt", key)), 1);
  EXPECT_EQ(PngOrientationOf(Chunk("tEXt", "Comment" + kZero + "tiff:Orientation=\"2\"")), 1);
  // Only the beginning of a huge text is searched.
  EXPECT_EQ(PngOrientationOf(Chunk("zTXt", key + kZero + Deflated("tiff:Orientation>3" + std::string(50 << 20, 'x')))),
            3);
}

TEST(ProbeImage, ReadsTheXmpOrientationOfJpegAndWebp) {
  const std::string packet = "<rdf tiff:Orientation='3' tiff:Orientation=\"6\"/>";
  const auto segment = [](const std::string& body) {
    return std::string("\xFF\xE1\0", 3) + static_cast<char>(body.size() + 2) + body;
  };
  const std::string xmp = segment(std::string("http://ns.adobe.com/xap/1.0/\0", 29) + packet);
  const std::string plain = MakeJpeg({.width = 12, .height = 8});
  const auto of = [&](const std::string& segments) {
    return ProbeImage(plain.substr(0, 2) + segments + plain.substr(2))->orientation;
  };
  EXPECT_EQ(of(xmp), 6);
  EXPECT_EQ(of(ExifSegment(3, true) + xmp), 3);
  EXPECT_EQ(of(xmp + ExifSegment(3, false)), 3);
  EXPECT_EQ(of(ExifSegment(3, true) + ExifSegment(4, true)), 3);
  EXPECT_EQ(of(segment(std::string("Exif\0\0MM\0*", 10)) + xmp), 6);
  const auto webp = [&](char flags, const std::string& chunks) {
    return ProbeImage(std::string("RIFF\x20\0\0\0WEBPVP8X\x0A\0\0\0", 20) + flags + std::string(3, '\0') +
                      std::string("\x0F\0\0\x1F\0\0", 6) + chunks)
        ->orientation;
  };
  const std::string chunk = "XMP " + std::string{static_cast<char>(packet.size()), 0, 0, 0} + packet + kZero;
  EXPECT_EQ(webp(4, chunk), 6);
  EXPECT_EQ(webp(0, chunk), 1);
}

TEST(ProbeImage, EveryPrefixGivesAnErrorOrTheHeader) {
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
  // The frame extends beyond the screen.
  const std::string gif("GIF89a\x05\0\x04\0\0\0\0,\x03\0\x01\0\x04\0\x02\0\0\x02", 24);
  ASSERT_TRUE(ProbeImage(gif).ok()) << ProbeImage(gif).status();
  EXPECT_EQ(ProbeImage(gif)->width, 7);
  EXPECT_EQ(ProbeImage(gif)->height, 4);
  for (const std::string& whole : {png, bmp, webp, gif}) {
    for (size_t length = 0; length < whole.size(); ++length) (void)ProbeImage(whole.substr(0, length));
  }
}

TEST(ProbeImage, ErrorsDescribeTheBytes) {
  EXPECT_THAT(std::string(ProbeImage("").status().message()), HasSubstr("no bytes"));
  EXPECT_THAT(std::string(ProbeImage("GIF89a").status().message()), HasSubstr("before its first frame"));
  EXPECT_THAT(std::string(ProbeImage("GIF90a").status().message()), HasSubstr("47 49 46"));
  EXPECT_FALSE(ProbeImage("\xFF\xD8\xFF\xD9").ok());
}

TEST(ProbeImage, NamesUnsupportedFormats) {
  using namespace std::string_view_literals;
  const std::pair<std::string_view, const char*> files[] = {
      {"II*\0\x08\0\0\0"sv, "a TIFF"},
      {"MM\0*\0\0\0\x08"sv, "a TIFF"},
      {"\0\0\0\x0CjP  \r\n\x87\n\0\0\0\x14"
       "ftypjp2 \0\0\0\0jp2 "sv,
       "a JPEG 2000"},
      {"\xFF\x4F\xFF\x51\0\x2F"sv, "a JPEG 2000"},
      {"\0\0\0\x0CJXL \r\n\x87\n"sv, "a JPEG XL"},
      {"\xFF\x0A\xFA\x1F"sv, "a JPEG XL"},
      {"\0\0\0\x18"
       "ftypheic\0\0\0\0mif1heic"sv,
       "a HEIC"},
      {"\0\0\0\x1C"
       "ftypmif1\0\0\0\0mif1miafheix"sv,
       "a HEIC"},
      {"\0\0\0\x1C"
       "ftypavif\0\0\0\0avifmif1miaf"sv,
       "an AVIF"},
      {"\0\0\0\x1C"
       "ftypmif1\0\0\0\0mif1avifmiaf"sv,
       "an AVIF"},
      {"P6\n2 2\n255\n............"sv, "a PPM"},
      {"P3 2 2 255 1 2 3"sv, "a PPM"},
      {"P5\n# a comment\n2 2\n255\n...."sv, "a PGM"},
      {"P4\n8 1\n."sv, "a PBM"},
      {"P7\nWIDTH 2\n"sv, "a PAM"},
  };
  for (const auto& [bytes, name] : files) {
    EXPECT_EQ(std::string(ProbeImage(bytes).status().message()),
              absl::StrCat("the image is ", name, ", which is not read; convert it to PNG or JPEG"));
    for (size_t length = 0; length < bytes.size(); ++length) EXPECT_FALSE(ProbeImage(bytes.substr(0, length)).ok());
  }
  for (const std::string_view other : {"P8\n2 2\n255\n"sv, "P6x"sv,
                                       "\0\0\0\x18"
                                       "ftypisom\0\0\0\0isommp42"sv}) {
    EXPECT_THAT(std::string(ProbeImage(other).status().message()), HasSubstr("not a JPEG, PNG, WebP, BMP or GIF"));
  }
}

TEST(CheckLimits, NamesSizeAndLimit) {
  const ImageHeader header{.width = 1000, .height = 500};
  EXPECT_TRUE(CheckLimits(header, {}).ok());
  EXPECT_TRUE(CheckLimits(header, {.max_pixels = 500000, .max_side = 1000}).ok());
  EXPECT_THAT(std::string(CheckLimits(header, {.max_pixels = 499999}).message()), HasSubstr("499999"));
  EXPECT_THAT(std::string(CheckLimits(header, {.max_side = 999}).message()), HasSubstr("999"));
}

}  // namespace
}  // namespace penstock::image
