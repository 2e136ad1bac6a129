#include "pipeline/augment/contact_sheet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pipeline/image/image_header.h"
#include "tests/pipeline/augment/row_maker.h"
#include "tests/pipeline/image/jpeg_maker.h"

namespace penstock {
namespace {

constexpr char kOps[] =
    "ops { decode_image { } } ops { random_resized_crop { height: 64 width: 64 } }"
    "ops { random_horizontal_flip { } } ops { normalise { preset: 'imagenet' } }";

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
