#include "pipeline/image/resize/pil_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/philox.h"
#include "hwy/targets.h"
#include "tests/pipeline/image/jpeg_maker.h"
#include "tests/pipeline/image/resize/random_resizes.h"

namespace penstock::image {
namespace {

struct RowPixels {
  std::vector<uint8_t> bytes;
  int width, height, channels;

  size_t row() const { return static_cast<size_t>(width * channels); }
  ImageView view() const { return {bytes.data(), width, height, channels, row()}; }
};

// The definition: both passes in order over the whole image with the scalar loops, then the window.
RowPixels FilterColumns(const ResizePlan& plan, const RowPixels& in) {
  if (plan.box_width == plan.out_width) return in;
  FilterTable table;
  BuildFilterTable(plan.filter, plan.box_width, plan.out_width, 0, plan.out_width, false, &table);
  RowPixels out{{}, plan.out_width, in.height, in.channels};
  out.bytes.resize(out.row() * static_cast<size_t>(out.height));
  HorizontalPassScalar(table, in.view(), out.bytes.data(), out.row());
  return out;
}

RowPixels FilterRows(const ResizePlan& plan, const RowPixels& in) {
  if (plan.box_height == plan.out_height) return in;
  FilterTable table;
  BuildFilterTable(plan.filter, plan.box_height, plan.out_height, 0, plan.out_height, false, &table);
  RowPixels out{{}, in.width, plan.out_height, in.channels};
  out.bytes.resize(out.row() * static_cast<size_t>(out.height));
  VerticalPassScalar(table, {0, plan.out_height}, in.view(), 0, out.bytes.data(), out.row());
  return out;
}

std::vector<uint8_t> Wanted(const ResizePlan& plan, const RowPixels& box) {
  const int shorter = plan.box_height - plan.out_height, narrower = plan.box_width - plan.out_width;
  const bool rows_first = shorter > 0 && shorter > 2 * narrower;
  const RowPixels all =
      rows_first ? FilterColumns(plan, FilterRows(plan, box)) : FilterRows(plan, FilterColumns(plan, box));
  std::vector<uint8_t> out;
  for (int y = 0; y < plan.window.height; ++y) {
    for (int x = 0; x < plan.window.width; ++x) {
      const int column = plan.window.x + (plan.flip ? plan.window.width - 1 - x : x);
      const uint8_t* pixel = all.view().row(plan.window.y + y) + column * box.channels;
      out.insert(out.end(), pixel, pixel + box.channels);
    }
  }
  return out;
}

ResizePlan RandomPlan(SampleRandom* random, int round) {
  static constexpr ResizeFilter kFilters[] = {ResizeFilter::kBilinear, ResizeFilter::kBicubic, ResizeFilter::kLanczos,
                                              ResizeFilter::kBox, ResizeFilter::kHamming};
  const int limit = round % 2 == 0 ? 20 : 150;
  ResizePlan plan{.box_width = Pick(random, 1, limit),
                  .box_height = Pick(random, 1, limit),
                  .out_width = Pick(random, 1, limit),
                  .out_height = Pick(random, 1, limit),
                  .flip = Pick(random, 0, 1) == 1,
                  .filter = kFilters[round % 5]};
  if (round % 7 == 0) plan.out_width = plan.box_width;
  if (round % 11 == 0) plan.out_height = plan.box_height;
  plan.window.width = Pick(random, 1, plan.out_width);
  plan.window.height = Pick(random, 1, plan.out_height);
  plan.window.x = Pick(random, 0, plan.out_width - plan.window.width);
  plan.window.y = Pick(random, 0, plan.out_height - plan.window.height);
  return plan;
}

// Passes rows [0, end) of the image on, in portions of any size.
void Give(const ImageView& image, int end, SampleRandom* random, ImageSink* sink) {
  for (int y = 0; y < end;) {
    const int height = std::min(end - y, Pick(random, 1, Pick(random, 0, 3) == 0 ? 60 : 5));
    sink->Rows(image.Crop({0, y, image.width, height}));
    y += height;
  }
}

// Uses one `rows` for all plans, because a plan must leave no state for the next plan.
void ExpectTwoPasses(PilRows rows) {
  SampleRandom random(7, 3, 0);
  for (int round = 0; round < 600; ++round) {
    const ResizePlan plan = RandomPlan(&random, round);
    const int channels = round % 3 == 0 ? 1 : 3;
    const RowPixels box{MakePixels(plan.box_width, plan.box_height, channels, static_cast<uint32_t>(round)),
                        plan.box_width, plan.box_height, channels};
    const Rect needed = SourceNeeded(plan);
    const ImageView source = box.view().Crop(needed);

    constexpr uint8_t kUntouched = 0xA5;
    const size_t row = static_cast<size_t>(plan.window.width * channels), stride = row + 7;
    std::vector<uint8_t> memory(stride * static_cast<size_t>(plan.window.height), kUntouched);
    rows.Start(plan, channels, memory.data(), stride);
    if (round % 4 == 0) {
      Give(source, Pick(&random, 1, needed.height), &random, &rows);
      rows.Restart();
    }
    EXPECT_FALSE(rows.Done());
    Give(source, needed.height, &random, &rows);
    EXPECT_TRUE(rows.Done());

    std::vector<uint8_t> got;
    for (size_t y = 0; y < static_cast<size_t>(plan.window.height); ++y) {
      const uint8_t* from = memory.data() + y * stride;
      got.insert(got.end(), from, from + row);
      ASSERT_EQ(std::count(from + row, from + stride, kUntouched), 7) << "row " << y;
    }
    ASSERT_EQ(got, Wanted(plan, box)) << "round " << round << ", " << plan.box_width << " x " << plan.box_height
                                      << " to " << plan.out_width << " x " << plan.out_height;
  }
}

TEST(PilRows, PortionsOfAnySizeGiveTheResultOfTheWholeImage) { ExpectTwoPasses(PilRows()); }

TEST(PilRows, EveryTargetGivesTheSameBytes) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    ExpectTwoPasses(PilRows(/*quads=*/false));
  }
  hwy::SetSupportedTargetsForTest(0);
}

// The number of kept rows does not depend on the height of the source.
TEST(PilRows, KeepsOnlyAFewRows) {
  PilRows rows;
  const ResizePlan plan{
      .box_width = 300, .box_height = 20000, .out_width = 100, .out_height = 10000, .window = {0, 0, 100, 10000}};
  std::vector<uint8_t> out(300 * 10000), strip(900 * 16, 77);
  rows.Start(plan, 3, out.data(), 300);
  for (int y = 0; y < plan.box_height; y += 16) rows.Rows({strip.data(), 300, 16, 3, 900});
  ASSERT_TRUE(rows.Done());
  EXPECT_EQ(std::count(out.begin(), out.end(), 77), static_cast<int64_t>(out.size()));
  const size_t tables = 2 * 10000 * 64;
  EXPECT_LT(rows.held_bytes(), tables + 100 * 900);
  EXPECT_LE(rows.held_bytes(), PilRows::Bytes(plan, 3));
}

}  // namespace
}  // namespace penstock::image
