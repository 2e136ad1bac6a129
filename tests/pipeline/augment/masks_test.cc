// Masks are classes: they keep the numbers of the file, and pixels from outside the image get a class too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "pipeline/augment/check_pipeline.h"
#include "pipeline/records/example_builder.h"
#include "tests/pipeline/augment/row_maker.h"
#include "tests/pipeline/image/png/png_maker.h"

namespace penstock::augment {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint32_t kMaskWidth = 48, kMaskHeight = 36;
constexpr size_t kPixels = size_t{kMaskWidth} * kMaskHeight;
const std::string kSize = "ops { resize { height: 36 width: 48 filter: NEAREST } } ";

// A PNG without filters that has one value per pixel.
std::string MaskPng(int color, int depth, const std::vector<uint16_t>& values, const std::string& more = "",
                    bool interlaced = false) {
  std::string rows;
  for (uint32_t y = 0; y < kMaskHeight; ++y) {
    rows.push_back('\0');
    int bits = 0;
    for (uint32_t x = 0; x < kMaskWidth; ++x) {
      const int value = values[y * kMaskWidth + x];
      if (depth == 16) rows.push_back(static_cast<char>(value >> 8));
      if (depth >= 8) {
        rows.push_back(static_cast<char>(value));
        continue;
      }
      if (bits == 0) rows.push_back('\0');
      bits = (bits + depth) % 8;
      rows.back() = static_cast<char>(rows.back() | value << (bits == 0 ? 0 : 8 - bits));
    }
  }
  return image::WrapPng(image::PngHeader(kMaskWidth, kMaskHeight, color, depth, interlaced) + more,
                        image::ZlibStream(rows, 6), 5000);
}

// Returns `count` colors like those of VOC: no color is the gray value of its own index.
std::string Colors(int count) {
  std::string colors;
  for (int i = 0; i < count; ++i) colors += {static_cast<char>(i * 64 + 128), static_cast<char>(i * 32), '\x40'};
  return image::PngChunk("PLTE", colors);
}

// A white image, so that pixels from outside the image are visible in it.
std::string Image() { return MaskPng(0, 8, std::vector<uint16_t>(kPixels, 255)); }

std::vector<uint16_t> Classes(uint32_t count, uint32_t factor = 1) {
  std::vector<uint16_t> classes(kPixels);
  for (uint32_t i = 0; i < kPixels; ++i) {
    classes[i] = static_cast<uint16_t>((i % kMaskWidth / 5 + i / kMaskWidth / 3 * 7) % count * factor);
  }
  return classes;
}

std::string MaskRecord(const std::string& mask, const std::string& other = "") {
  return records::ExampleBuilder()
      .Bytes("image/encoded", Image())
      .Bytes("mask", mask)
      .Bytes("other", other)
      .Serialize();
}

v1::JobSpec MaskJob(const std::string& ops, const std::string& decode = "", const std::string& more = "",
                    const std::string& annotations = "") {
  return ParseJob(
      "features { key: 'image/encoded' column: 'image' type: BYTES } features { key: 'mask' type: BYTES } "
      "ops { decode_image { channels: GRAY } } " +
      ops + "ops { column: 'mask' decode_image { channels: GRAY " + decode + " } } " + more +
      "annotations { masks: 'mask' " + annotations + " }");
}

struct MadeMask {
  absl::Status status;
  std::vector<uint8_t> image;
  std::vector<uint16_t> mask;
};

MadeMask MakeMask(const v1::JobSpec& job, const std::string& record, uint64_t epoch = 0) {
  const auto pipeline = BuildPipeline(job);
  OwnedRow row(pipeline->schema());
  RowScratch scratch;
  MadeMask made;
  made.status = pipeline->MakeRow(record, {.seed = 3, .epoch = epoch}, &row.slot, &scratch);
  if (!made.status.ok()) return made;
  EXPECT_LE(scratch.held_bytes(), pipeline->ScratchBytes(record));
  made.image = row.As<uint8_t>(0);
  if (pipeline->schema().columns[1].dtype == batch::DType::kUint16) {
    made.mask = row.As<uint16_t>(1);
  } else {
    for (const uint8_t value : row.As<uint8_t>(1)) made.mask.push_back(value);
  }
  return made;
}

TEST(Masks, PaletteMasksKeepTheirIndexes) {
  for (const int depth : {1, 2, 4, 8}) {
    const std::vector<uint16_t> classes = Classes(1u << std::min(depth, 5));
    for (const bool few : {false, true}) {
      SCOPED_TRACE(testing::Message() << depth << " bits" << (few ? ", a short palette" : ""));
      const MadeMask made =
          MakeMask(MaskJob(kSize), MaskRecord(MaskPng(3, depth, classes, Colors(few ? 2 : 1 << depth))));
      ASSERT_TRUE(made.status.ok()) << made.status;
      EXPECT_EQ(made.mask, classes);
    }
  }
}

TEST(Masks, GrayMasksKeepTheirValues) {
  const std::vector<uint16_t> eight = Classes(251), two = Classes(2);
  EXPECT_EQ(MakeMask(MaskJob(kSize), MaskRecord(MaskPng(0, 8, eight))).mask, eight);
  EXPECT_EQ(MakeMask(MaskJob(kSize), MaskRecord(MaskPng(0, 1, two))).mask, two);  // black and white
}

TEST(Masks, SixteenBitMasksNeedADepth) {
  const std::vector<uint16_t> ids = Classes(100, 641);
  EXPECT_THAT(ids, testing::Contains(26007 / 641 * 641));
  const std::string record = MaskRecord(MaskPng(0, 16, ids));
  const absl::Status status = MakeMask(MaskJob(kSize), record).status;
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FaultOf(status), Fault::kNoImage);
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr("ops[2].decode_image (column 'mask'): the PNG holds 16-bit classes, which do not fit uint8; write "
                "decode_image { channels: GRAY depth: UINT16 }"));
  const auto pipeline = BuildPipeline(MaskJob(kSize, "depth: UINT16"));
  EXPECT_EQ(pipeline->schema().columns[1].dtype, batch::DType::kUint16);
  EXPECT_THAT(pipeline->schema().columns[1].shape, ElementsAre(kMaskHeight, kMaskWidth, 1));
  EXPECT_EQ(MakeMask(MaskJob(kSize, "depth: UINT16"), record).mask, ids);
  // Masks with fewer bits keep their values.
  EXPECT_EQ(MakeMask(MaskJob(kSize, "depth: UINT16"), MaskRecord(MaskPng(3, 8, Classes(9), Colors(9)))).mask,
            Classes(9));
  EXPECT_EQ(MakeMask(MaskJob(kSize, "depth: UINT16"), MaskRecord(MaskPng(0, 8, Classes(200)))).mask, Classes(200));
  // Other ops see numbers.
  const v1::JobSpec cast = MaskJob(kSize, "depth: UINT16", "ops { column: 'mask' cast { to: INT32 } } ");
  const auto cast_pipeline = BuildPipeline(cast);
  OwnedRow row(cast_pipeline->schema());
  RowScratch scratch;
  ASSERT_TRUE(cast_pipeline->MakeRow(record, {}, &row.slot, &scratch).ok());
  EXPECT_EQ(row.As<int32_t>(1), std::vector<int32_t>(ids.begin(), ids.end()));
}

TEST(Masks, MasksOfSixteenBitColorsAreBadRecords) {
  std::string rows;
  for (uint32_t y = 0; y < kMaskHeight; ++y) rows += '\0' + std::string(size_t{6} * kMaskWidth, '\1');
  const std::string colors =
      image::WrapPng(image::PngHeader(kMaskWidth, kMaskHeight, 2, 16, false), image::ZlibStream(rows, 6), 5000);
  for (const char* depth : {"", "depth: UINT16"}) {
    EXPECT_THAT(std::string(MakeMask(MaskJob(kSize, depth), MaskRecord(colors)).status.message()),
                HasSubstr("colors or alpha of 16 bits"));
  }
}

// "$" marks where an op may have more fields.
const std::string kMaskMoves[] = {
    "ops { random_crop { $ height: 30 width: 40 padding: 9 } } ",
    "ops { random_crop { $ height: 60 width: 70 pad_if_needed: true } } ",
    "ops { center_crop { $ height: 60 width: 30 } } ",
    "ops { pad { $ left: 3 top: 5 right: 2 bottom: 1 } } ",
    "ops { rotate { $ min_degrees: 20 max_degrees: 50 filter: NEAREST } } ",
    "ops { affine { $ max_degrees: 30 scale_min: 0.4 scale_max: 0.7 filter: NEAREST } } ",
    "ops { perspective { $ probability: 1 distortion: 0.7 filter: NEAREST } } ",
    "ops { zoom_out { $ probability: 1 scale_min: 1.5 } } ",
    "ops { random_apply { probability: 1 ops { one_of { ops { rotate { $ min_degrees: 30 max_degrees: 40 "
    "filter: NEAREST } } } } } } ",
};

// A move of kMoves with this text in its op.
std::string With(std::string move, const std::string& text) {
  const size_t at = move.find('$');
  return at == std::string::npos ? move : move.replace(at, 1, text);
}

TEST(Masks, PixelsFromOutsideHaveTheFillOfTheOpOrOfTheJob) {
  const std::string record = MaskRecord(MaskPng(0, 8, std::vector<uint16_t>(kPixels, 7)));
  for (const std::string& move : kMaskMoves) {
    const std::tuple<const char*, const char*, int> fills[] = {{"", "", 0},
                                                               {"", "mask_fill: 255", 255},
                                                               {"mask_fill: 3", "mask_fill: 255", 3},
                                                               {"mask_fill: 0", "mask_fill: 255", 0},
                                                               {"mask_fill: 9", "", 9}};
    for (const auto& [op_fill, job_fill, outside] : fills) {
      const std::string text = With(move, op_fill);
      SCOPED_TRACE(text + job_fill);
      const MadeMask made = MakeMask(MaskJob(text + kSize, "", "", job_fill), record);
      ASSERT_TRUE(made.status.ok()) << made.status;
      size_t from_outside = 0;
      for (size_t i = 0; i < kPixels; ++i) {
        ASSERT_EQ(made.mask[i], made.image[i] == 0 ? outside : 7) << i;
        from_outside += made.image[i] == 0;
      }
      EXPECT_GT(from_outside, 20u);
    }
  }
}

TEST(Masks, PolicyOpsUseTheMaskFill) {
  const std::string record = MaskRecord(MaskPng(0, 8, std::vector<uint16_t>(kPixels, 7)));
  for (const char* policy : {"rand_augment { magnitude: 20 mask_fill: 200 }", "trivial_augment_wide { mask_fill: 200 }",
                             "auto_augment { mask_fill: 200 }"}) {
    SCOPED_TRACE(policy);
    size_t filled = 0;
    for (uint64_t epoch = 0; epoch < 40; ++epoch) {
      const MadeMask made =
          MakeMask(MaskJob(kSize + "ops { " + policy + " } ", "", "", "mask_fill: 100"), record, epoch);
      ASSERT_TRUE(made.status.ok()) << made.status;
      for (const uint16_t value : made.mask) {
        ASSERT_TRUE(value == 7 || value == 200) << value;
        filled += value == 200;
      }
    }
    EXPECT_GT(filled, 100u);
  }
}

// A 16-bit mask moves as masks of its low and high bytes do.
TEST(Masks, SixteenBitMasksMoveAsTheirBytesDo) {
  const std::vector<uint16_t> ids = Classes(60, 1091);
  std::vector<uint16_t> low, high;
  for (const uint16_t id : ids) low.push_back(id & 255), high.push_back(id >> 8);
  std::vector<std::string> moves(std::begin(kMaskMoves), std::end(kMaskMoves));
  moves.insert(moves.end(), {"ops { random_horizontal_flip { probability: 1 } } ",
                             "ops { random_vertical_flip { probability: 1 } } ",
                             "ops { random_resized_crop { height: 20 width: 30 filter: NEAREST } } ",
                             "ops { pad { left: 9 top: 40 mode: REFLECT } } "});
  for (const std::string& move : moves) {
    SCOPED_TRACE(move);
    const MadeMask wide = MakeMask(MaskJob(With(move, "") + kSize, "depth: UINT16", "", "mask_fill: 4660"),
                                   MaskRecord(MaskPng(0, 16, ids)));
    const MadeMask lows =
        MakeMask(MaskJob(With(move, "") + kSize, "", "", "mask_fill: 0x34"), MaskRecord(MaskPng(0, 8, low)));
    const MadeMask highs =
        MakeMask(MaskJob(With(move, "") + kSize, "", "", "mask_fill: 0x12"), MaskRecord(MaskPng(0, 8, high)));
    ASSERT_TRUE(wide.status.ok()) << wide.status;
    for (size_t i = 0; i < kPixels; ++i) ASSERT_EQ(wide.mask[i], lows.mask[i] | highs.mask[i] << 8) << i;
  }
}

TEST(Masks, EachMaskMayHaveItsOwnFill) {
  const v1::JobSpec job = ParseJob(
      "features { key: 'image/encoded' column: 'image' type: BYTES } features { key: 'mask' type: BYTES } "
      "features { key: 'other' type: BYTES } ops { decode_image { channels: GRAY } } ops { pad { left: 1 } } "
      "ops { pad { top: 1 mask_fill: 11 mask_fill: 40000 } } ops { resize { height: 37 width: 49 filter: NEAREST } } "
      "ops { column: 'mask' decode_image { channels: GRAY } } "
      "ops { column: 'other' decode_image { channels: GRAY depth: UINT16 } } "
      "annotations { masks: ['mask', 'other'] mask_fill: 5 mask_fill: 50000 }");
  const auto pipeline = BuildPipeline(job);
  OwnedRow row(pipeline->schema());
  RowScratch scratch;
  const std::string record = MaskRecord(MaskPng(0, 8, Classes(3)), MaskPng(0, 16, Classes(3, 9999)));
  ASSERT_TRUE(pipeline->MakeRow(record, {}, &row.slot, &scratch).ok());
  const auto mask = row.As<uint8_t>(1);
  const auto other = row.As<uint16_t>(2);
  EXPECT_EQ(mask[0], 11);
  EXPECT_EQ(other[0], 40000);
  EXPECT_EQ(mask[49], 5);
  EXPECT_EQ(other[49], 50000);
  EXPECT_EQ(mask[50], Classes(3)[0]);
  EXPECT_EQ(other[30 * 49 + 20], Classes(3, 9999)[29 * 48 + 19]);
}

TEST(Masks, MistakesAreNamed) {
  const auto mistakes = [](const std::string& ops, const std::string& decode = "",
                           const std::string& annotations = "") {
    return CheckPipeline(MaskJob(ops + kSize, decode, "", annotations));
  };
  EXPECT_THAT(mistakes("", "", "mask_fill: 256"),
              ElementsAre("annotations.mask_fill: must be from 0 to 255 for a mask of uint8, not 256"));
  EXPECT_THAT(mistakes("", "depth: UINT16", "mask_fill: 65536"),
              ElementsAre("annotations.mask_fill: must be from 0 to 65535 for a mask of uint16, not 65536"));
  EXPECT_THAT(mistakes("", "", "mask_fill: 1 mask_fill: 2"),
              ElementsAre("annotations.mask_fill: has 2 values; it needs one, or one for each of the 1 masks"));
  EXPECT_THAT(mistakes("ops { pad { left: 1 mask_fill: 300 } } "),
              testing::Contains("ops[1].pad.mask_fill: must be from 0 to 255 for a mask of uint8, not 300"));
  EXPECT_THAT(mistakes("ops { rand_augment { mask_fill: 1 mask_fill: 2 } } "),
              testing::Contains(HasSubstr("ops[1].rand_augment.mask_fill: has 2 values")));
  EXPECT_THAT(mistakes("", "depth: INT16"), ElementsAre("ops[2].decode_image.depth: must be UINT8 or UINT16"));
  const std::string decode = "ops { decode_image { } } ";
  EXPECT_THAT(CheckPipeline(ImageJob(decode + "ops { pad { left: 1 mask_fill: 0 } } " + kSize)),
              ElementsAre("ops[1].pad.mask_fill: is for masks, and annotations.masks names none"));
  EXPECT_THAT(CheckPipeline(ImageJob("ops { decode_image { channels: GRAY depth: UINT16 } } " + kSize)),
              testing::Contains("ops[0].decode_image.depth: UINT16 is for masks; name column 'image' in "
                                "annotations.masks"));
  EXPECT_THAT(CheckPipeline(ImageJob("ops { decode_image { depth: UINT8 } } " + kSize)), IsEmpty());
}

}  // namespace
}  // namespace penstock::augment
