#include "pipeline/augment/contact_sheet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pipeline/image/formats/decode_other.h"
#include "pipeline/image/image_header.h"
#include "pipeline/records/example_builder.h"
#include "tests/pipeline/augment/row_maker.h"
#include "tests/pipeline/image/jpeg_maker.h"

namespace penstock::augment {
namespace {

constexpr char kSheetOps[] =
    "ops { decode_image { } } ops { random_resized_crop { height: 64 width: 64 } }"
    "ops { random_horizontal_flip { } } ops { normalize { preset: 'imagenet' } }";

TEST(ContactSheet, IsAPngWithACellForEachDraw) {
  const std::string good = ImageRecord(image::MakeJpeg({.width = 90, .height = 60}));
  const std::string bad = ImageRecord("no image");
  const std::vector<SheetRecord> records = {{good, {.record_id = 1}, "first"}, {bad, {.record_id = 2}, "second"}};
  const auto sheet = RenderContactSheet(ImageJob(kSheetOps), records, {.draws = 3, .cell = 64});
  ASSERT_TRUE(sheet.ok()) << sheet.status();
  const auto header = image::ProbeImage(*sheet);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->format, image::ImageFormat::kPng);
  EXPECT_GT(header->width, 4 * 64);
  EXPECT_GT(header->height, 2 * 64);
  EXPECT_EQ(*sheet, *RenderContactSheet(ImageJob(kSheetOps), records, {.draws = 3, .cell = 64}));
}

TEST(ContactSheet, DrawsBoxesThatFollowTheImage) {
  const std::vector<float> low{0.2f}, high{0.7f};
  const std::string record = records::ExampleBuilder()
                                 .Bytes("image/encoded", image::MakeJpeg({.width = 90, .height = 60}))
                                 .Int64("image/class/label", 1)
                                 .FloatList("image/object/bbox/xmin", low)
                                 .FloatList("image/object/bbox/ymin", low)
                                 .FloatList("image/object/bbox/xmax", high)
                                 .FloatList("image/object/bbox/ymax", high)
                                 .Serialize();
  const auto sheet = [&](const std::string& annotations) -> std::string {
    const auto png =
        RenderContactSheet(ImageJob(kSheetOps + annotations), {{record, {.record_id = 1}, ""}}, {.draws = 2});
    EXPECT_TRUE(png.ok()) << png.status();
    return png.ok() ? *png : std::string();
  };
  EXPECT_NE(sheet("annotations { boxes { } }"), sheet(""));
  // No box is left.
  EXPECT_NE(sheet("annotations { boxes { } }"), sheet("annotations { boxes { min_area: 1e6 } }"));
  EXPECT_EQ(sheet(""), sheet("annotations { boxes { min_area: 1e6 } }"));
}

TEST(ContactSheet, ShowsRawPixelsToo) {
  const auto job = [](const std::string& ops) {
    return ParseJob("features { key: 'raw' column: 'pixels' type: BYTES decode_raw: UINT8 shape: [20, 30, 3] }" + ops);
  };
  const std::vector<uint8_t> pixels = image::MakePixels(30, 20, 3, 5);
  const std::string record =
      records::ExampleBuilder().Bytes("raw", std::string(pixels.begin(), pixels.end())).Serialize();
  const auto sheet = [&](const std::string& ops) -> std::string {
    const auto png = RenderContactSheet(job(ops), {{record, {.record_id = 1}, ""}}, {.draws = 2});
    EXPECT_TRUE(png.ok()) << png.status();
    return png.ok() ? *png : std::string();
  };
  EXPECT_NE(sheet("ops { column: 'pixels' invert { } }"), sheet(""));
  EXPECT_EQ(sheet("ops { column: 'pixels' cast { to: FLOAT32 } }").empty(), false);
  const auto error = RenderContactSheet(job(""), {{"no record", {.record_id = 1}, ""}}, {.draws = 2});
  EXPECT_TRUE(error.ok()) << "the sheet shows the error";
}

// A record of 20 x 20 raw pixels of one color.
std::string Plain(uint8_t r, uint8_t g, uint8_t b) {
  std::string pixels;
  for (int i = 0; i < 400; ++i) pixels.append({static_cast<char>(r), static_cast<char>(g), static_cast<char>(b)});
  return records::ExampleBuilder().Bytes("raw", pixels).Int64("label", 1).Serialize();
}

// The number of pixels of the sheet with this color.
int CountColor(const std::string& png, uint8_t r, uint8_t g, uint8_t b) {
  const auto header = image::ProbeImage(png);
  EXPECT_TRUE(header.ok());
  const size_t row = static_cast<size_t>(header->width) * 3;
  std::vector<uint8_t> pixels(row * static_cast<size_t>(header->height));
  EXPECT_TRUE(image::DecodeOther(png, *header, 3, pixels.data(), row).ok());
  int count = 0;
  for (size_t i = 0; i < pixels.size(); i += 3) count += pixels[i] == r && pixels[i + 1] == g && pixels[i + 2] == b;
  return count;
}

TEST(ContactSheet, ShowsMixedRowsWithTheirPartners) {
  const v1::JobSpec job = ParseJob(
      "features { key: 'raw' column: 'image' type: BYTES decode_raw: UINT8 shape: [20, 20, 3] }"
      "features { key: 'label' type: INT64 } mix { mixup_alpha: 1 cutmix_alpha: 1 classes: 2 }");
  const std::string red = Plain(200, 0, 0), blue = Plain(0, 0, 100);
  const batch::MixDraw half{.kind = batch::MixDraw::Kind::kMixup, .lambda = 0.5, .box = {}};
  const batch::MixDraw box{.kind = batch::MixDraw::Kind::kCutmix, .lambda = 0.5, .box = {0, 0, 10, 20}};
  const auto partner = [&](const batch::MixDraw& draw) { return SheetPartner{blue, {.record_id = 2}, draw}; };
  SheetRecord record{red, {.record_id = 1}, "", {partner(half), partner(box), std::nullopt}};
  const auto sheet = RenderContactSheet(job, {record}, {.draws = 3, .cell = 40});
  ASSERT_TRUE(sheet.ok()) << sheet.status();
  EXPECT_EQ(CountColor(*sheet, 100, 0, 50), 1600) << "mixup changes the whole cell";
  EXPECT_EQ(CountColor(*sheet, 0, 0, 100), 800) << "cutmix shows half of the partner";
  EXPECT_EQ(CountColor(*sheet, 200, 0, 0), 1600 + 800 + 1600)
      << "the cell as read, half of the cutmix cell, and the cell without a partner";
  record.partners.pop_back();
  EXPECT_FALSE(RenderContactSheet(job, {record}, {.draws = 3, .cell = 40}).ok()) << "each draw needs a partner";
}

TEST(ContactSheet, HasAtMost20000PixelsOnASide) {
  const v1::JobSpec job = ParseJob(
      "features { key: 'raw' column: 'image' type: BYTES decode_raw: UINT8 shape: [20, 20, 3] }"
      "features { key: 'label' type: INT64 }");
  const std::string pixels = Plain(200, 0, 0);
  const auto sheet = [&](size_t records, int draws) {
    return RenderContactSheet(job, std::vector<SheetRecord>(records, SheetRecord{pixels, {.record_id = 1}, ""}),
                              {.draws = draws, .cell = 16});
  };
  const auto widest = sheet(1, 894);
  ASSERT_TRUE(widest.ok()) << widest.status();
  EXPECT_EQ(image::ProbeImage(*widest)->width, 19996);
  const auto highest = sheet(499, 1);
  ASSERT_TRUE(highest.ok()) << highest.status();
  EXPECT_EQ(image::ProbeImage(*highest)->height, 19992);
  EXPECT_THAT(std::string(sheet(1, 895).status().message()), testing::HasSubstr("20018 x 72 pixels"));
  EXPECT_THAT(std::string(sheet(500, 1).status().message()), testing::HasSubstr("350 x 20032 pixels"));
}

TEST(ContactSheet, ErrorsSayWhyThereIsNoSheet) {
  const std::string record = ImageRecord("x");
  EXPECT_THAT(std::string(RenderContactSheet(ImageJob(""), {{record, {}, ""}}).status().message()),
              testing::HasSubstr("decode_image"));
  EXPECT_FALSE(RenderContactSheet(ImageJob(kSheetOps), {}).ok());
  EXPECT_FALSE(RenderContactSheet(ImageJob(kSheetOps), std::vector<SheetRecord>(1000)).ok());
  EXPECT_FALSE(RenderContactSheet(ImageJob("ops { resize { } }"), {{record, {}, ""}}).ok());
}

}  // namespace
}  // namespace penstock::augment
