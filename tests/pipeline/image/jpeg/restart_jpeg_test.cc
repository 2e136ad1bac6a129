#include "pipeline/image/jpeg/restart_jpeg.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pipeline/image/image_header.h"
#include "pipeline/image/jpeg/restart_table.h"
#include "tests/pipeline/image/crop_support.h"
#include "tests/pipeline/image/jpeg_maker.h"
#include "tests/pipeline/image/reference.h"

namespace penstock::image {
namespace {

// Whether the file is kept with its own bytes.
bool StaysAsItIs(const absl::Status& status) { return absl::IsFailedPrecondition(status) || absl::IsDataLoss(status); }

constexpr int kRestartSizes[][2] = {{1, 1},   {17, 17},  {7, 9},    {3000, 1}, {3, 400},  {64, 64},
                                    {65, 33}, {131, 97}, {200, 57}, {96, 160}, {258, 130}};

struct Sampling {
  int horizontal, vertical;
};
// 4:4:4, 4:2:2, 4:2:0, 4:4:0, 4:1:1, 4:1:0.
constexpr Sampling kSamplings[] = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}, {4, 2}};

// Expects that all crops of `indexed` through its table equal those of `plain`.
void ExpectSameCrops(std::string_view plain, std::string_view indexed, int width, int height, int crops,
                     const std::string& what, int channels = 3) {
  JpegDecoder decoder;
  SampleRandom random(7, static_cast<uint64_t>(width * 10000 + height), 0);
  for (int i = 0; i < crops; ++i) {
    const Rect rect = i == 0 ? Rect{0, 0, width, height} : RandomRect(&random, width, height);
    const DecodedCrop wanted = DecodeCrop(&decoder, plain, rect, channels);
    ASSERT_TRUE(wanted.status.ok()) << what << wanted.status;
    ASSERT_TRUE(DecodeCrop(&decoder, indexed, rect, channels) == wanted)
        << what << ": " << ToString(rect) << " of " << width << "x" << height;
  }
}

TEST(RestartJpeg, EveryCropEqualsTheCropOfTheSource) {
  for (const auto& size : kRestartSizes) {
    for (const Sampling sampling : kSamplings) {
      for (const int restart : {0, 5}) {
        const std::string plain = MakeJpeg({.width = size[0],
                                            .height = size[1],
                                            .horizontal = sampling.horizontal,
                                            .vertical = sampling.vertical,
                                            .restart_interval = restart});
        const int across = ReadTileGrid(plain)->mcus_per_row();
        for (int interval = 0; interval <= 8; ++interval) {
          if (interval != 0 && across % interval != 0) continue;
          const auto indexed = AddRestartIndex(plain, {}, interval);
          ASSERT_TRUE(indexed.ok()) << indexed.status();
          ASSERT_TRUE(TileTable::Read(*indexed).has_value());
          ExpectSameCrops(plain, *indexed, size[0], size[1], 8,
                          std::to_string(sampling.horizontal) + "x" + std::to_string(sampling.vertical) + " interval " +
                              std::to_string(interval));
        }
      }
    }
    const std::string gray = MakeJpeg({.width = size[0], .height = size[1], .components = 1});
    const auto indexed = AddRestartIndex(gray);
    ASSERT_TRUE(indexed.ok()) << indexed.status();
    ExpectSameCrops(gray, *indexed, size[0], size[1], 12, "gray");
    ExpectSameCrops(gray, *indexed, size[0], size[1], 12, "gray as gray", 1);
  }
}

TEST(RestartJpeg, EveryRowAndColumnCanBeTheBorderOfACrop) {
  const int width = 210, height = 130;
  for (const Sampling sampling : kSamplings) {
    const std::string plain =
        MakeJpeg({.width = width, .height = height, .horizontal = sampling.horizontal, .vertical = sampling.vertical});
    const auto indexed = AddRestartIndex(plain);
    ASSERT_TRUE(indexed.ok()) << indexed.status();
    JpegDecoder decoder;
    for (int x = 0; x < width; x += 1) {
      for (const Rect rect : {Rect{x, 60, 1, 5}, {0, 60, x + 1, 5}, {x, 60, width - x, 5}}) {
        ASSERT_TRUE(DecodeCrop(&decoder, *indexed, rect) == DecodeCrop(&decoder, plain, rect)) << ToString(rect);
      }
    }
    for (int y = 0; y < height; ++y) {
      for (const Rect rect : {Rect{100, y, 5, 1}, {100, y, 5, height - y}, {100, 0, 5, y + 1}}) {
        ASSERT_TRUE(DecodeCrop(&decoder, *indexed, rect) == DecodeCrop(&decoder, plain, rect)) << ToString(rect);
      }
    }
  }
}

// The decoder does not read tiles outside the crop, so their bytes may be anything.
TEST(RestartJpeg, ACropReadsOnlyItsOwnTiles) {
  const std::string plain = MakeJpeg({.width = 640, .height = 480, .horizontal = 2, .vertical = 2});
  const auto indexed = AddRestartIndex(plain, {}, 4);
  ASSERT_TRUE(indexed.ok()) << indexed.status();
  const auto table = TileTable::Read(*indexed);
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->grid().interval, 4);
  EXPECT_EQ(table->grid().columns, 10);
  EXPECT_EQ(table->grid().rows, 30);
  // The crop is in columns 4 to 6 and rows 12 to 18. Fancy upsampling and libjpeg's look-ahead need one row more.
  const Rect crop{300, 200, 100, 100};
  std::string spoilt = *indexed;
  size_t at = table->grid().scan_at, kept = 0;
  for (int64_t tile = 0; tile < table->grid().tiles(); at += table->length(tile) + 2, ++tile) {
    const int64_t row = tile / 10, column = tile % 10;
    if (row >= 11 && row <= 20 && column >= 4 && column <= 6) {
      kept += table->length(tile);
    } else {
      for (size_t i = 0; i < table->length(tile); ++i) spoilt[at + i] = 0x55;
    }
  }
  EXPECT_LT(kept, indexed->size() / 8);
  JpegDecoder decoder;
  EXPECT_EQ(DecodeCrop(&decoder, HideTable(spoilt), crop).status.code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(DecodeCrop(&decoder, spoilt, crop) == DecodeCrop(&decoder, plain, crop));
}

TEST(RestartJpeg, IndexingTwiceChangesNothing) {
  const std::string plain = MakeJpeg({.width = 200, .height = 120, .horizontal = 2, .vertical = 2});
  const auto once = AddRestartIndex(plain);
  ASSERT_TRUE(once.ok());
  const auto twice = AddRestartIndex(*once);
  ASSERT_TRUE(twice.ok());
  EXPECT_EQ(*once, *twice);
}

std::string Segment(int marker, const std::string& payload) {
  std::string out{'\xFF', static_cast<char>(marker)};
  out += static_cast<char>((payload.size() + 2) >> 8);
  out += static_cast<char>((payload.size() + 2) & 0xFF);
  return out + payload;
}

TEST(RestartJpeg, KeepsMarkersCommentsAndTrailingBytes) {
  const std::string made = MakeJpeg({.width = 90, .height = 50});
  const std::string exif = Segment(0xE1, std::string("Exif\0\0MM\0*", 10) + std::string(300, 'e'));
  const std::string icc = Segment(0xE2, std::string("ICC_PROFILE\0\1\1", 14) + std::string(60000, 'i'));
  const std::string foreign = Segment(0xE9, "another program's APP9");
  const std::string comment = Segment(0xFE, "a comment");
  const size_t behind_jfif = 2 + 18;
  const std::string plain =
      made.substr(0, behind_jfif) + exif + comment + icc + foreign + made.substr(behind_jfif) + "bytes after the image";
  const auto indexed = AddRestartIndex(plain);
  ASSERT_TRUE(indexed.ok()) << indexed.status();
  EXPECT_EQ(indexed->substr(0, behind_jfif), plain.substr(0, behind_jfif));
  EXPECT_EQ(indexed->find(exif + comment + icc + foreign), behind_jfif);
  EXPECT_EQ(indexed->substr(indexed->size() - 21), "bytes after the image");
  ExpectSameCrops(plain, *indexed, 90, 50, 20, "markers");
}

TEST(RestartJpeg, ErrorsSayWhyAFileStaysUnchanged) {
  const auto stays = [](const std::string& bytes, absl::StatusCode code, const std::string& why) {
    const auto result = AddRestartIndex(bytes);
    EXPECT_EQ(result.status().code(), code) << result.status();
    EXPECT_TRUE(StaysAsItIs(result.status()));
    EXPECT_NE(result.status().message().find(why), std::string::npos) << result.status();
  };
  const auto odd = absl::StatusCode::kFailedPrecondition;
  stays(MakeJpeg({.width = 64, .height = 64, .progressive = true}), odd, "progressive");
  stays(MakeJpeg({.width = 64, .height = 64, .components = 4}), odd, "4 components");
  stays(MakeJpeg({.width = 64, .height = 64, .separate_scans = true}), odd, "several scans");
  const std::string good = MakeJpeg({.width = 200, .height = 200});
  std::string arithmetic = good;
  arithmetic[arithmetic.find("\xFF\xC0") + 1] = '\xC9';
  stays(arithmetic, odd, "arithmetic");
  stays(good.substr(0, good.size() / 2), absl::StatusCode::kDataLoss, "Premature end");
  std::string broken = good;
  for (size_t i = 0; i < 40; ++i) broken[broken.size() / 2 + i] = static_cast<char>(i * 77);
  stays(broken, absl::StatusCode::kDataLoss, "Corrupt");
}

// Offsets inside the file count from a place in it, and refer to the pictures after the first.
TEST(RestartJpeg, AMultiPictureFileStaysUnchanged) {
  const std::string made = MakeJpeg({.width = 90, .height = 50});
  const size_t behind_jfif = 2 + 18;
  const std::string pictures = Segment(0xE2, std::string("MPF\0II*\0\x08\0\0\0", 12) + std::string(60, '\0'));
  const auto result = AddRestartIndex(made.substr(0, behind_jfif) + pictures + made.substr(behind_jfif) + made);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(result.status().message().find("several pictures"), std::string::npos) << result.status();
}

// Pillow, for example, assembles an ICC profile at the frame header.
TEST(RestartJpeg, AFileWithMetadataAfterItsFrameHeaderStaysUnchanged) {
  const std::string made = MakeJpeg({.width = 90, .height = 50});
  const std::string icc = Segment(0xE2, std::string("ICC_PROFILE\0\1\1", 14) + "profile");
  const size_t behind_jfif = 2 + 18, frame = made.find("\xFF\xC0"), behind_frame = frame + 19;
  const std::string twice = made.substr(0, behind_jfif) + icc + made.substr(behind_jfif, behind_frame - behind_jfif) +
                            icc + made.substr(behind_frame);
  const auto result = AddRestartIndex(twice);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(result.status().message().find("behind its frame header"), std::string::npos) << result.status();
  EXPECT_TRUE(AddRestartIndex(made.substr(0, behind_jfif) + icc + made.substr(behind_jfif)).ok());
}

TEST(RestartJpeg, AFileWithATileOf64KiBStaysUnchanged) {
  const std::string wide = MakeJpeg({.width = 8 * 7919, .height = 8, .quality = 90});  // a prime number of MCUs
  ASSERT_GT(wide.size(), 100000u);
  const auto result = AddRestartIndex(wide, {}, 7919);
  EXPECT_TRUE(StaysAsItIs(result.status()));
  EXPECT_NE(result.status().message().find("64 KiB"), std::string::npos) << result.status();
  EXPECT_TRUE(AddRestartIndex(wide, {}, 1).ok());
}

TEST(RestartJpeg, RejectsOtherFilesAndLargeImages) {
  EXPECT_EQ(AddRestartIndex("text").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(AddRestartIndex("").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(StaysAsItIs(AddRestartIndex("text").status()));
  EXPECT_EQ(AddRestartIndex(MakeJpeg({.width = 200, .height = 200}), {}, 7).status().code(),
            absl::StatusCode::kInvalidArgument);
  const std::string good = MakeJpeg({.width = 200, .height = 200});
  EXPECT_EQ(AddRestartIndex(good, {.max_pixels = 39999, .max_side = 65500}).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(RestartJpeg, FindsDamageOnlyInTheTilesOfTheCrop) {
  const int width = 400, height = 400;
  const auto good =
      AddRestartIndex(MakeJpeg({.width = width, .height = height, .horizontal = 2, .vertical = 2}), {}, 5);
  ASSERT_TRUE(good.ok());
  const auto table = TileTable::Read(*good);
  ASSERT_TRUE(table.has_value());
  // Tile 5 loses its code: zeros are blocks of other coefficients, too many or too few.
  size_t at = table->grid().scan_at;
  for (int64_t i = 0; i < 5; ++i) at += table->length(i) + 2;
  std::string bad = *good;
  for (size_t i = 0; i < table->length(5); ++i) bad[at + i] = 0;
  JpegDecoder decoder;
  const int tile = table->grid().interval * 16, x = 5 % table->grid().columns * tile,
            y = 5 / table->grid().columns * 16;
  const Rect in_it{x + tile / 2, y + 4, 4, 4}, below{x, y + 100, 90, 90};
  EXPECT_EQ(DecodeCrop(&decoder, bad, in_it).status.code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(DecodeCrop(&decoder, bad, in_it) == DecodeCrop(&decoder, HideTable(bad), in_it));
  EXPECT_TRUE(DecodeCrop(&decoder, bad, in_it, 3, true) == DecodeCrop(&decoder, HideTable(bad), in_it, 3, true));
  EXPECT_TRUE(DecodeCrop(&decoder, bad, in_it, 3, true).damaged);
  EXPECT_TRUE(DecodeCrop(&decoder, bad, below) == DecodeCrop(&decoder, *good, below));
}

TEST(RestartJpeg, MemoryStaysBelowTheBoundOfTheHeader) {
  const auto indexed = AddRestartIndex(MakeJpeg({.width = 900, .height = 700, .quality = 98}));
  ASSERT_TRUE(indexed.ok()) << indexed.status();
  const auto header = ProbeImage(*indexed);
  ASSERT_TRUE(header.ok());
  JpegDecoder decoder;
  ASSERT_TRUE(DecodeCrop(&decoder, *indexed, {400, 300, 200, 100}).status.ok());
  EXPECT_LE(decoder.held_bytes(), JpegDecoderBytes(*header));
}

TEST(RestartJpeg, TheIntervalIsNearFourMcusAndItsMarkersAreSmall) {
  EXPECT_EQ(TileInterval(200000, 32, 24), 4);
  EXPECT_EQ(TileInterval(200000, 30, 24), 5);
  EXPECT_EQ(TileInterval(200000, 25, 24), 5);
  EXPECT_EQ(TileInterval(900000, 47, 32), 1);
  EXPECT_EQ(TileInterval(60000, 47, 32), 47);
  EXPECT_EQ(TileInterval(100, 32, 24), 32);
  EXPECT_EQ(TileInterval(100, 1, 1), 1);
}

TEST(RestartJpeg, CropsOfEveryPhotographEqualThoseOfItsSource) {
  const auto folder = ReferenceFolder();
  if (!folder) {
    const std::string plain = MakeJpeg({.width = 500, .height = 375, .horizontal = 2, .vertical = 2});
    const auto indexed = AddRestartIndex(plain);
    ASSERT_TRUE(indexed.ok()) << indexed.status();
    ExpectSameCrops(plain, *indexed, 500, 375, 20, "generated");
    return;
  }
  for (const std::string& name : ListFolder(*folder + "/photos")) {
    const std::string plain = ReadBytes(*folder + "/photos/" + name);
    const auto header = ProbeImage(plain);
    ASSERT_TRUE(header.ok()) << name << header.status();
    const auto indexed = AddRestartIndex(plain);
    ASSERT_TRUE(indexed.ok()) << name << indexed.status();
    ASSERT_TRUE(TileTable::Read(*indexed).has_value()) << name;
    ExpectSameCrops(plain, *indexed, header->width, header->height, 8, name);
  }
}

}  // namespace
}  // namespace penstock::image
