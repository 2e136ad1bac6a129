#include "pipeline/augment/contact_sheet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pipeline/image/image_header.h"
#include "pipeline/records/example_builder.h"
#include "tests/pipeline/augment/row_maker.h"
#include "tests/pipeline/image/jpeg_maker.h"

namespace penstock {
namespace {

constexpr char kOps[] =
    "ops { decode_image { } } ops { random_resized_crop { height: 64 width: 64 } }"
    "ops { random_horizontal_flip { } } ops { normalize { preset: 'imagenet' } }";

TEST(ContactSheet, IsAPngWithACellForEachDraw) {
  const std::string good = ImageRecord(MakeJpeg({.width = 90, .height = 60}));
  const std::string bad = ImageRecord("no image");
  const std::vector<SheetRecord> records = {{good, {.record_id = 1}, "first"}, {bad, {.record_id = 2}, "second"}};
  const auto sheet = RenderContactSheet(ImageJob(kOps), records, {.draws = 3, .cell = 64});
  ASSERT_TRUE(sheet.ok()) << sheet.status();
  const auto header = ProbeImage(*sheet);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->format, ImageFormat::kPng);
  EXPECT_GT(header->width, 4 * 64);
  EXPECT_GT(header->height, 2 * 64);
  EXPECT_EQ(*sheet, *RenderContactSheet(ImageJob(kOps), records, {.draws = 3, .cell = 64}));
}

TEST(ContactSheet, DrawsBoxesThatFollowTheImage) {
  const std::vector<float> low{0.2f}, high{0.7f};
  const std::string record = ExampleBuilder()
                                 .Bytes("image/encoded", MakeJpeg({.width = 90, .height = 60}))
                                 .Int64("image/class/label", 1)
                                 .FloatList("image/object/bbox/xmin", low)
                                 .FloatList("image/object/bbox/ymin", low)
                                 .FloatList("image/object/bbox/xmax", high)
                                 .FloatList("image/object/bbox/ymax", high)
                                 .Serialize();
  const auto sheet = [&](const std::string& annotations) -> std::string {
    const auto png = RenderContactSheet(ImageJob(kOps + annotations), {{record, {.record_id = 1}, ""}}, {.draws = 2});
    EXPECT_TRUE(png.ok()) << png.status();
    return png.ok() ? *png : std::string();
  };
  EXPECT_NE(sheet("annotations { boxes { } }"), sheet(""));
  // None is left.
  EXPECT_NE(sheet("annotations { boxes { } }"), sheet("annotations { boxes { min_area: 1e6 } }"));
  EXPECT_EQ(sheet(""), sheet("annotations { boxes { min_area: 1e6 } }"));
}

TEST(ContactSheet, ShowsRawPixelsToo) {
  const auto job = [](const std::string& ops) {
    return ParseJob("features { key: 'raw' column: 'pixels' type: BYTES decode_raw: UINT8 shape: [20, 30, 3] }" + ops);
  };
  const std::vector<uint8_t> pixels = MakePixels(30, 20, 3, 5);
  const std::string record = ExampleBuilder().Bytes("raw", std::string(pixels.begin(), pixels.end())).Serialize();
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

TEST(ContactSheet, SaysWhyThereIsNone) {
  const std::string record = ImageRecord("x");
  EXPECT_THAT(std::string(RenderContactSheet(ImageJob(""), {{record, {}, ""}}).status().message()),
              testing::HasSubstr("decode_image"));
  EXPECT_FALSE(RenderContactSheet(ImageJob(kOps), {}).ok());
  EXPECT_FALSE(RenderContactSheet(ImageJob(kOps), std::vector<SheetRecord>(1000)).ok());
  EXPECT_FALSE(RenderContactSheet(ImageJob("ops { resize { } }"), {{record, {}, ""}}).ok());
}

}  // namespace
}  // namespace penstock
