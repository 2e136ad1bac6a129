#include "pipeline/image/jpeg/jpeg_decoder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/philox.h"
#include "tests/pipeline/image/crop_support.h"
#include "tests/pipeline/image/jpeg_maker.h"
#include "tests/pipeline/image/reference.h"

namespace penstock::image {
namespace {

std::vector<uint8_t> DecodeRect(JpegDecoder* decoder, std::string_view bytes, const Rect& rect, int channels = 3) {
  const size_t row = static_cast<size_t>(rect.width) * static_cast<size_t>(channels);
  std::vector<uint8_t> pixels(row * static_cast<size_t>(rect.height), 0xAB);
  const auto damaged = decoder->Decode(bytes, rect, {.channels = channels}, pixels.data(), row);
  EXPECT_TRUE(damaged.ok()) << damaged.status();
  EXPECT_FALSE(damaged.value_or(true));
  return pixels;
}

std::vector<uint8_t> CropOf(const std::vector<uint8_t>& pixels, int width, const Rect& rect, int channels) {
  std::vector<uint8_t> out;
  for (int y = 0; y < rect.height; ++y) {
    const auto from = pixels.begin() + ((rect.y + y) * width + rect.x) * channels;
    out.insert(out.end(), from, from + rect.width * channels);
  }
  return out;
}

void ExpectCropsEqualFullDecode(std::string_view bytes, int width, int height, int crops, const std::string& what,
                                int channels = 3) {
  JpegDecoder decoder;
  const std::vector<uint8_t> full = DecodeRect(&decoder, bytes, {0, 0, width, height}, channels);
  SampleRandom random(99, static_cast<uint64_t>(width * 10000 + height), 0);
  for (int i = 0; i < crops; ++i) {
    const Rect rect = RandomRect(&random, width, height);
    ASSERT_EQ(DecodeRect(&decoder, bytes, rect, channels), CropOf(full, width, rect, channels))
        << what << ": " << rect.x << "," << rect.y << " " << rect.width << "x" << rect.height << " of " << width << "x"
        << height;
  }
}

// Sizes around the borders of blocks and MCUs, and the extremes.
constexpr int kSizes[][2] = {{1, 1},   {17, 17},  {7, 9},    {3000, 1}, {3, 400},  {64, 64},
                             {65, 33}, {131, 97}, {200, 57}, {96, 160}, {258, 130}};

TEST(JpegDecoder, ACropHasThePixelsOfAFullDecode) {
  struct Sampling {
    int horizontal, vertical;
  };
  for (const auto& size : kSizes) {
    for (const Sampling sampling : {Sampling{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}, {4, 2}}) {
      for (const bool progressive : {false, true}) {
        for (const int restart : {0, 5}) {
          const JpegRecipe recipe{.width = size[0],
                                  .height = size[1],
                                  .horizontal = sampling.horizontal,
                                  .vertical = sampling.vertical,
                                  .progressive = progressive,
                                  .restart_interval = restart};
          ExpectCropsEqualFullDecode(MakeJpeg(recipe), size[0], size[1], 6,
                                     "sampling " + std::to_string(sampling.horizontal) + "x" +
                                         std::to_string(sampling.vertical) + (progressive ? " progressive" : "") +
                                         " restart " + std::to_string(restart));
        }
      }
    }
  }
}

TEST(JpegDecoder, ACropHasThePixelsOfAFullDecodeInGrayCmykYcckAndSeparateScans) {
  for (const auto& size : kSizes) {
    const int width = size[0], height = size[1];
    ExpectCropsEqualFullDecode(MakeJpeg({.width = width, .height = height, .components = 1}), width, height, 5, "gray");
    ExpectCropsEqualFullDecode(MakeJpeg({.width = width, .height = height, .components = 1}), width, height, 5,
                               "gray as gray", 1);
    ExpectCropsEqualFullDecode(MakeJpeg({.width = width, .height = height, .horizontal = 2, .vertical = 2}), width,
                               height, 5, "color as gray", 1);
    ExpectCropsEqualFullDecode(MakeJpeg({.width = width, .height = height, .components = 4}), width, height, 5, "CMYK");
    ExpectCropsEqualFullDecode(
        MakeJpeg({.width = width, .height = height, .components = 4, .horizontal = 2, .vertical = 2, .ycck = true}),
        width, height, 5, "YCCK");
    ExpectCropsEqualFullDecode(
        MakeJpeg({.width = width, .height = height, .horizontal = 2, .vertical = 2, .separate_scans = true}), width,
        height, 5, "separate scans");
  }
}

TEST(JpegDecoder, EveryRowAndColumnCanBeTheBorderOfACrop) {
  const int width = 100, height = 70;
  const std::string bytes = MakeJpeg({.width = width, .height = height, .horizontal = 2, .vertical = 2});
  JpegDecoder decoder;
  const std::vector<uint8_t> full = DecodeRect(&decoder, bytes, {0, 0, width, height});
  for (int x = 0; x < width; ++x) {
    for (const Rect rect : {Rect{x, 0, 1, height}, {0, 0, x + 1, height}, {x, 31, width - x, 3}}) {
      ASSERT_EQ(DecodeRect(&decoder, bytes, rect), CropOf(full, width, rect, 3)) << x;
    }
  }
  for (int y = 0; y < height; ++y) {
    for (const Rect rect : {Rect{0, y, width, 1}, {40, y, 8, height - y}, {0, 0, width, y + 1}}) {
      ASSERT_EQ(DecodeRect(&decoder, bytes, rect), CropOf(full, width, rect, 3)) << y;
    }
  }
}

TEST(JpegDecoder, AWiderImageAfterANarrowOneNeedsNoMoreMemory) {
  const auto held = [](const std::vector<int>& widths) {
    JpegDecoder decoder;
    for (const int width : widths) {
      const std::string bytes = MakeJpeg({.width = width, .height = 40});
      DecodeRect(&decoder, bytes, {0, 0, width, 40});
    }
    return decoder.held_bytes();
  };
  EXPECT_EQ(held({1000, 1100}), held({1100}));
}

TEST(JpegDecoder, CropsOfEveryPhotographHaveThePixelsOfItsFullDecode) {
  const auto folder = ReferenceFolder();
  if (!folder) {
    ExpectCropsEqualFullDecode(MakeJpeg({.width = 500, .height = 375, .horizontal = 2, .vertical = 2}), 500, 375, 20,
                               "generated");
    return;
  }
  for (const std::string& name : ListFolder(*folder + "/photos")) {
    const std::string bytes = ReadBytes(*folder + "/photos/" + name);
    const auto header = ProbeImage(bytes);
    ASSERT_TRUE(header.ok()) << name << header.status();
    ExpectCropsEqualFullDecode(bytes, header->width, header->height, 8, name);
  }
}

TEST(JpegDecoder, RowsHaveTheRequestedStride) {
  const std::string bytes = MakeJpeg({.width = 40, .height = 30});
  JpegDecoder decoder;
  const Rect rect{5, 6, 7, 8};
  std::vector<uint8_t> wide(50 * 8, 0xEE);
  ASSERT_TRUE(decoder.Decode(bytes, rect, {}, wide.data(), 50).ok());
  const std::vector<uint8_t> dense = DecodeRect(&decoder, bytes, rect);
  for (size_t y = 0; y < 8; ++y) {
    EXPECT_EQ(0, std::memcmp(wide.data() + y * 50, dense.data() + y * 21, 21));
    for (size_t i = 21; i < 50; ++i) EXPECT_EQ(wide[y * 50 + i], 0xEE);
  }
}

TEST(JpegDecoder, ASinkReceivesTheRowsInStripsFromTheTop) {
  struct Sink final : ImageSink {
    void Rows(const ImageView& rows) override {
      heights.push_back(rows.height);
      for (int y = 0; y < rows.height; ++y) pixels.insert(pixels.end(), rows.row(y), rows.row(y) + rows.row_bytes());
    }
    void Restart() override { ADD_FAILURE() << "a sound file is decoded once"; }
    std::vector<int> heights;
    std::vector<uint8_t> pixels;
  };
  const Rect rect{31, 7, 77, 70};
  for (const int components : {1, 3, 4}) {
    const std::string bytes = MakeJpeg({.width = 150, .height = 100, .components = components});
    for (const int channels : {1, 3}) {
      JpegDecoder decoder;
      Sink sink;
      const auto damaged = decoder.Decode(bytes, rect, {.channels = channels}, &sink);
      ASSERT_TRUE(damaged.ok()) << damaged.status();
      EXPECT_EQ(sink.heights, std::vector<int>({16, 16, 16, 16, 6}));
      EXPECT_TRUE(sink.pixels == DecodeCrop(&decoder, bytes, rect, channels).pixels);
    }
  }
}

TEST(JpegDecoder, DamageIsAnErrorUnlessLenient) {
  const std::string good = MakeJpeg({.width = 200, .height = 200, .horizontal = 2, .vertical = 2});
  JpegDecoder decoder;
  std::vector<uint8_t> out(200 * 200 * 3);
  const std::string cut = good.substr(0, good.size() / 2);
  const auto strict = decoder.Decode(cut, {0, 0, 200, 200}, {}, out.data(), 600);
  EXPECT_EQ(strict.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(strict.status().message().find("Premature end of JPEG file"), std::string::npos) << strict.status();
  const auto lenient = decoder.Decode(cut, {0, 0, 200, 200}, {.lenient = true}, out.data(), 600);
  ASSERT_TRUE(lenient.ok()) << lenient.status();
  EXPECT_TRUE(*lenient);
  // The pixels before the damage are right.
  EXPECT_EQ(DecodeRect(&decoder, cut, {0, 0, 200, 20}), DecodeRect(&decoder, good, {0, 0, 200, 20}));
}

TEST(JpegDecoder, OverwrittenDataIsDamage) {
  std::string bytes = MakeJpeg({.width = 200, .height = 200, .restart_interval = 10});
  for (size_t i = 0; i < 40; ++i) bytes[bytes.size() / 2 + i] = static_cast<char>(i * 77);
  JpegDecoder decoder;
  std::vector<uint8_t> out(200 * 200 * 3);
  EXPECT_EQ(decoder.Decode(bytes, {0, 0, 200, 200}, {}, out.data(), 600).status().code(), absl::StatusCode::kDataLoss);
}

TEST(JpegDecoder, GarbageAfterTheEndIsIgnored) {
  const std::string bytes = MakeJpeg({.width = 33, .height = 21});
  JpegDecoder decoder;
  EXPECT_EQ(DecodeRect(&decoder, bytes + std::string(1000, 'x'), {0, 0, 33, 21}),
            DecodeRect(&decoder, bytes, {0, 0, 33, 21}));
}

// Pixels of a JPEG with one more segment after its SOI, and with or without a JFIF segment.
std::vector<uint8_t> PixelsWith(const std::string& segment, bool jfif = true) {
  const std::string jpeg = MakeJpeg({.width = 40, .height = 30, .horizontal = 2, .vertical = 2});
  const std::string with = jpeg.substr(0, 2) + segment + jpeg.substr(jfif ? 2 : 2 + 18);
  const auto header = ProbeImage(with);
  EXPECT_TRUE(header.ok()) << header.status();
  if (!header.ok() || header->width != 40 || header->height != 30) return {};
  std::vector<uint8_t> out(40 * 30 * 3);
  JpegDecoder decoder;
  const auto decoded = decoder.Decode(with, {0, 0, 40, 30}, {}, out.data(), 120);
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_FALSE(decoded.ok() && *decoded);
  return out;
}

// libjpeg warns and assumes YCbCr, as Pillow and TensorFlow do.
TEST(JpegDecoder, AnUnknownAdobeTransformCodeIsNotDamage) {
  const std::vector<uint8_t> plain = PixelsWith("");
  for (const char transform : {'\x02', '\xC7'}) {
    EXPECT_EQ(PixelsWith(std::string("\xFF\xEE\0\x0E"
                                     "Adobe\0\x64\0\0\0\0",
                                     15) +
                             transform,
                         false),
              plain);
  }
}

// libjpeg, and so every program that uses it, treats the two bytes of such a length as the whole segment.
TEST(JpegDecoder, ASegmentLengthBelowTwoIsSkipped) {
  const std::vector<uint8_t> plain = PixelsWith("");
  for (const char marker : {'\xFE', '\xE1', '\xE2', '\xED'}) {
    for (const char length : {'\0', '\1'}) {
      EXPECT_EQ(PixelsWith(std::string{'\xFF', marker, '\0', length}), plain);
      EXPECT_EQ(PixelsWith(std::string{'\xFF', marker, '\0', length, 'A', 'S'}), plain);
    }
  }
}

TEST(JpegDecoder, WorksAfterErrors) {
  JpegDecoder decoder;
  std::vector<uint8_t> out(64 * 64 * 3);
  const std::string good = MakeJpeg({.width = 64, .height = 64});
  for (const std::string& bad : {std::string(), std::string("\xFF\xD8\xFF"), std::string("text"), good.substr(0, 100),
                                 good.substr(0, good.size() - 60)}) {
    EXPECT_FALSE(decoder.Decode(bad, {0, 0, 64, 64}, {}, out.data(), 192).ok());
    EXPECT_TRUE(decoder.Decode(good, {0, 0, 64, 64}, {}, out.data(), 192).ok());
  }
}

// libjpeg itself keeps tables for the next image.
TEST(JpegDecoder, AFileWithoutTablesDoesNotUseThoseOfThePreviousImage) {
  const std::string before = MakeJpeg({.width = 64, .height = 64, .quality = 30});
  const std::string whole = MakeJpeg({.width = 64, .height = 64, .quality = 95});
  for (const char marker : {'\xDB', '\xC4'}) {
    std::string bytes = whole;
    for (size_t at; (at = bytes.find(std::string{'\xFF', marker})) != std::string::npos;) {
      const size_t length = static_cast<uint8_t>(bytes[at + 2]) << 8 | static_cast<uint8_t>(bytes[at + 3]);
      bytes.erase(at, length + 2);
    }
    std::vector<uint8_t> fresh(64 * 64 * 3), used(64 * 64 * 3);
    JpegDecoder fresh_decoder, used_decoder;
    const auto wanted = fresh_decoder.Decode(bytes, {0, 0, 64, 64}, {}, fresh.data(), 192);
    ASSERT_TRUE(used_decoder.Decode(before, {0, 0, 64, 64}, {}, used.data(), 192).ok());
    const auto got = used_decoder.Decode(bytes, {0, 0, 64, 64}, {}, used.data(), 192);
    EXPECT_EQ(got.status(), wanted.status());
    if (wanted.ok()) {
      EXPECT_EQ(used, fresh);
    }
  }
}

TEST(JpegDecoder, ErrorsNameTheMistakeInTheRequest) {
  JpegDecoder decoder;
  std::vector<uint8_t> out(64 * 64 * 3);
  const std::string bytes = MakeJpeg({.width = 64, .height = 48});
  const auto outside = decoder.Decode(bytes, {0, 0, 64, 64}, {}, out.data(), 192);
  EXPECT_EQ(outside.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(outside.status().message().find("64 x 48"), std::string::npos) << outside.status();
  const auto big = decoder.Decode(bytes, {0, 0, 64, 48}, {.limits = {.max_pixels = 3000}}, out.data(), 192);
  EXPECT_EQ(big.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(JpegDecoder, RejectsAFileWithTooManyScans) {
  // Repeats the scan of a progressive file's first component.
  std::string bytes = MakeJpeg({.width = 16, .height = 16, .progressive = true});
  std::vector<size_t> scans;
  for (size_t i = 0; i + 1 < bytes.size(); ++i) {
    if (static_cast<uint8_t>(bytes[i]) == 0xFF && static_cast<uint8_t>(bytes[i + 1]) == 0xDA) {
      scans.push_back(i);
    }
  }
  ASSERT_GE(scans.size(), 2u);
  const std::string first = bytes.substr(scans[0], scans[1] - scans[0]);
  std::string many = bytes.substr(0, scans[0]);
  for (int i = 0; i < 600; ++i) many += first;
  many += "\xFF\xD9";
  JpegDecoder decoder;
  std::vector<uint8_t> out(16 * 16 * 3);
  const auto result = decoder.Decode(many, {0, 0, 16, 16}, {.lenient = true}, out.data(), 48);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(result.status().message().find("scans"), std::string::npos) << result.status();
}

}  // namespace
}  // namespace penstock::image
