// Pixels of PNG, WebP, BMP and GIF as Pillow makes them. make_pictures.py writes the files and Pillow's results.
#include "pipeline/image/formats/decode_other.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/fault.h"
#include "pipeline/image/color.h"
#include "pipeline/image/formats/png.h"
#include "tests/pipeline/image/jpeg_maker.h"
#include "tests/pipeline/image/picture_maker.h"
#include "tests/pipeline/image/reference.h"

namespace penstock::image {
namespace {

using ::testing::HasSubstr;

constexpr uint8_t kGuard = 0xA5;

uint32_t Crc(const std::vector<uint8_t>& bytes) {
  return static_cast<uint32_t>(crc32(0, bytes.data(), static_cast<uInt>(bytes.size())));
}

struct Decoded {
  ImageHeader header;
  absl::Status status;
  std::vector<uint8_t> pixels;  // dense
};

// Decodes at a stride that is longer than a row. The bytes between rows must not change.
Decoded Decode(const std::string& bytes, int channels, bool classes = false) {
  Decoded decoded;
  const auto header = ProbeImage(bytes);
  decoded.status = header.status();
  if (!header.ok()) return decoded;
  decoded.header = *header;
  const size_t row = static_cast<size_t>(header->width) * static_cast<size_t>(channels), stride = row + 5;
  std::vector<uint8_t> out(stride * static_cast<size_t>(header->height), kGuard);
  decoded.status = DecodeOther(bytes, *header, channels, out.data(), stride, classes);
  for (size_t at = 0; at < out.size(); at += stride) {
    for (size_t i = row; i < stride; ++i) EXPECT_EQ(out[at + i], kGuard);
    decoded.pixels.insert(decoded.pixels.end(), out.begin() + static_cast<ptrdiff_t>(at),
                          out.begin() + static_cast<ptrdiff_t>(at + row));
  }
  return decoded;
}

struct Line {
  std::string file;
  bool refused = false;
  int width = 0, height = 0;
  uint32_t rgb = 0, gray = 0;
};

std::vector<Line> ReadLines() {
  std::vector<Line> lines;
  std::ifstream table("tests/pipeline/image/formats/pictures.txt");
  for (std::string text; std::getline(table, text);) {
    if (text.empty() || text[0] == '#') continue;
    std::istringstream words(text);
    Line line;
    std::string second;
    words >> line.file >> second;
    line.refused = second == "refused";
    if (!line.refused) {
      line.width = std::stoi(second);
      words >> line.height >> std::hex >> line.rgb >> line.gray;
    }
    lines.push_back(line);
  }
  return lines;
}

TEST(DecodeOther, PixelsMatchPillow) {
  const std::vector<Line> lines = ReadLines();
  ASSERT_GT(lines.size(), size_t{200});
  for (const Line& line : lines) {
    SCOPED_TRACE(line.file);
    const std::string bytes = ReadBytes("tests/fuzz/image/seeds/" + line.file);
    const Decoded rgb = Decode(bytes, 3), gray = Decode(bytes, 1);
    EXPECT_EQ(rgb.status.ok(), !line.refused) << rgb.status;
    EXPECT_EQ(gray.status.ok(), !line.refused) << gray.status;
    if (line.refused || !rgb.status.ok() || !gray.status.ok()) continue;
    EXPECT_EQ(rgb.header.width, line.width);
    EXPECT_EQ(rgb.header.height, line.height);
    EXPECT_EQ(Crc(rgb.pixels), line.rgb);
    EXPECT_EQ(Crc(gray.pixels), line.gray);
  }
}

TEST(DecodeOther, ClassesMatchPillowsArray) {
  std::ifstream table("tests/pipeline/image/formats/classes.txt");
  int files = 0, wide = 0;
  for (std::string text; std::getline(table, text);) {
    if (text.empty() || text[0] == '#') continue;
    std::istringstream words(text);
    std::string file;
    int width = 0, height = 0, bits = 0;
    uint32_t crc = 0;
    words >> file >> width >> height >> bits >> std::hex >> crc;
    SCOPED_TRACE(file);
    const Decoded classes = Decode(ReadBytes("tests/fuzz/image/seeds/" + file), bits / 8, /*classes=*/true);
    ASSERT_TRUE(classes.status.ok()) << classes.status;
    EXPECT_EQ(classes.header.width, width);
    EXPECT_EQ(classes.header.height, height);
    EXPECT_EQ(Crc(classes.pixels), crc);
    ++files;
    wide += bits == 16;
  }
  EXPECT_GT(files, 60);
  EXPECT_GT(wide, 0);
}

TEST(DecodeOther, ATruncatedFileIsRejectedUnlessItHasAllPixels) {
  for (const Line& line : ReadLines()) {
    if (line.refused) continue;
    SCOPED_TRACE(line.file);
    const std::string bytes = ReadBytes("tests/fuzz/image/seeds/" + line.file);
    const std::vector<uint8_t> whole = Decode(bytes, 3).pixels;
    const size_t step = std::max<size_t>(1, bytes.size() / 40);
    for (size_t length = bytes.size() - 1; length > step; length -= step) {
      const Decoded cut = Decode(bytes.substr(0, length), 3);
      if (cut.status.ok()) {
        ASSERT_EQ(cut.pixels, whole) << length << " of " << bytes.size();
      } else {
        ASSERT_NE(cut.status.message(), "");
      }
    }
  }
}

TEST(DecodeOther, GeneratedFilesGiveTheirPixels) {
  const std::vector<uint8_t> rgb = MakePixels(37, 23, 3, 4), grays = MakePixels(37, 23, 1, 4);
  EXPECT_EQ(Decode(*EncodePng({rgb.data(), 37, 23, 3, 37 * 3}), 3).pixels, rgb);
  EXPECT_EQ(Decode(*EncodePng({grays.data(), 37, 23, 1, 37}), 1).pixels, grays);
  EXPECT_EQ(Decode(MakeBmp(37, 23, 4), 3).pixels, rgb);
  EXPECT_EQ(Decode(MakeWebp(37, 23, {.seed = 4}), 3).pixels, rgb);
  const std::vector<uint8_t> gif = Decode(MakeGif(37, 23, 4), 1).pixels;
  ASSERT_EQ(gif.size(), grays.size());
  for (size_t i = 0; i < gif.size(); ++i) ASSERT_EQ(gif[i], 255 - grays[i]);
}

// libwebp needs at least 12 bytes of a bare stream.
TEST(DecodeOther, AWebpWithAStreamOfEightBytesIsRead) {
  // 100 x 100 pixels of one color, 8 bytes of VP8L, as another encoder wrote them.
  const std::string webp("RIFF\x14\0\0\0WEBPVP8L\x08\0\0\0\x2f\x63\xc0\x18\x10\x88\x88\x08", 28);
  const Decoded decoded = Decode(webp, 3);
  ASSERT_TRUE(decoded.status.ok()) << decoded.status;
  EXPECT_EQ(decoded.pixels, std::vector<uint8_t>(30000, 0));
  EXPECT_TRUE(Decode(webp, 1).status.ok());
}

// A GIF of one row of pixels whose codes all have `code_bits` + 1 bits.
std::string GifOf(int code_bits, const std::vector<int>& colors) {
  std::string gif("GIF89a", 6);
  gif += {static_cast<char>(colors.size()), 0, 1, 0, '\x80', 0, 0, 0, 0, 0, '\x10', '\x20', '\x30'};
  gif += {',', 0, 0, 0, 0, static_cast<char>(colors.size()), 0, 1, 0, 0, static_cast<char>(code_bits)};
  std::string data;
  int held = 0;
  uint32_t window = 0;
  const auto put = [&](int code) {
    window |= static_cast<uint32_t>(code) << held;
    for (held += code_bits + 1; held >= 8; held -= 8, window >>= 8) data.push_back(static_cast<char>(window));
  };
  for (const int color : colors) {
    put(1 << code_bits);  // a clear code keeps the codes short
    put(color);
  }
  put((1 << code_bits) + 1);
  data.push_back(static_cast<char>(window));
  return gif + static_cast<char>(data.size()) + data + std::string("\0;", 2);
}

TEST(DecodeOther, GifsOfEveryCodeSizeAreRead) {
  for (int bits = 1; bits <= 11; ++bits) {
    const Decoded decoded = Decode(GifOf(bits, {0, 1, 1, 0}), 3);
    ASSERT_TRUE(decoded.status.ok()) << bits << decoded.status;
    EXPECT_EQ(decoded.pixels, (std::vector<uint8_t>{0, 0, 0, 16, 32, 48, 16, 32, 48, 0, 0, 0})) << bits;
    EXPECT_EQ(Decode(GifOf(bits, {0, (1 << bits) - 1}), 3).status.ok(), bits == 1) << bits;
  }
  EXPECT_FALSE(Decode(GifOf(9, {256, 0}), 3).status.ok());  // a color is a byte
  EXPECT_FALSE(Decode(GifOf(0, {0, 0}), 3).status.ok());
  EXPECT_FALSE(Decode(GifOf(12, {0, 0}), 3).status.ok());
}

TEST(DecodeOther, ErrorsNameTheCause) {
  const auto message = [](const std::string& file) {
    return std::string(Decode(ReadBytes("tests/fuzz/image/seeds/" + file), 3).status.message());
  };
  EXPECT_THAT(message("bmp-masks-16-2-h40.bmp"), HasSubstr("masks f00, f0, f"));
  EXPECT_THAT(message("bmp-jpeg-inside.bmp"), HasSubstr("compression 4"));
  EXPECT_THAT(message("bmp-rle8-cut.bmp"), HasSubstr("cut off: it has"));
  EXPECT_THAT(message("bmp-rle8-empty-line.bmp"), HasSubstr("an empty line"));
  EXPECT_THAT(message("bmp-8-index-beyond-palette.bmp"), HasSubstr(" of a palette of 5"));
  EXPECT_THAT(message("png-crc.png"), HasSubstr("the PNG does not decode"));
  EXPECT_THAT(message("webp-cut-lossy.webp"), HasSubstr("cut off"));
  EXPECT_THAT(message("webp-canvas-lies.webp"), HasSubstr("differ in size"));
  EXPECT_THAT(message("gif-too-few-pixels.gif"), HasSubstr("ends before its last pixel"));
}

TEST(DecodeOther, ATruncatedImageHasTheTruncatedFault) {
  const std::vector<uint8_t> rgb = MakePixels(60, 50, 3, 4);
  for (const std::string& bytes : {*EncodePng({rgb.data(), 60, 50, 3, 180}), MakeBmp(60, 50, 1), MakeGif(60, 50, 1),
                                   MakeWebp(60, 50, {}), MakeWebp(60, 50, {.lossless = false})}) {
    const absl::Status status = Decode(bytes.substr(0, bytes.size() * 2 / 3), 3).status;
    EXPECT_EQ(FaultName(FaultOf(status)), "truncated image") << status;
  }
}

TEST(DecodeOther, WritesNothingForAHeaderOfAnotherSize) {
  const std::vector<uint8_t> rgb = MakePixels(60, 50, 3, 4);
  for (const std::string& bytes : {*EncodePng({rgb.data(), 60, 50, 3, 180}), MakeBmp(60, 50, 1), MakeGif(60, 50, 1),
                                   MakeWebp(60, 50, {}), MakeWebp(60, 50, {.lossless = false})}) {
    ImageHeader lie = *ProbeImage(bytes);
    lie.width = 59;
    std::vector<uint8_t> out(50 * 60 * 3, kGuard);
    EXPECT_EQ(DecodeOther(bytes, lie, 3, out.data(), 177).code(), absl::StatusCode::kDataLoss);
    for (const uint8_t byte : out) ASSERT_EQ(byte, kGuard);
  }
}

TEST(EncodePng, RejectsInvalidSizesAndChannels) {
  const uint8_t pixel[4] = {};
  EXPECT_FALSE(EncodePng({pixel, 0, 1, 3, 3}).ok());
  EXPECT_FALSE(EncodePng({pixel, 1, 1, 4, 4}).ok());
}

}  // namespace
}  // namespace penstock::image
