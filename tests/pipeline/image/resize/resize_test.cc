#include "pipeline/image/resize/resize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/philox.h"
#include "hwy/targets.h"
#include "pipeline/image/resize/resize_passes.h"
#include "tests/pipeline/image/jpeg_maker.h"
#include "tests/pipeline/image/resize/random_resizes.h"

namespace penstock::image {
namespace {

std::vector<uint8_t> Resized(const ResizePlan& plan, const ImageView& source, const Rect& at) {
  const size_t row = static_cast<size_t>(plan.window.width * source.channels);
  std::vector<uint8_t> out(row * static_cast<size_t>(plan.window.height), 0xAA);
  Resizer resizer;
  const absl::Status status = resizer.Run(plan, source, at, out.data(), row);
  EXPECT_TRUE(status.ok()) << status;
  return out;
}

ResizePlan Whole(int in_width, int in_height, int width, int height) {
  return {.box_width = in_width,
          .box_height = in_height,
          .out_width = width,
          .out_height = height,
          .window = {0, 0, width, height}};
}

struct Image {
  std::vector<uint8_t> pixels;
  ImageView view;
  Image(int width, int height, int channels, uint32_t seed)
      : pixels(MakePixels(width, height, channels, seed)),
        view{pixels.data(), width, height, channels, static_cast<size_t>(width * channels)} {}
  Rect all() const { return {0, 0, view.width, view.height}; }
};

// The vector loops read past short rows and write whole vectors: sizes from 1 up, exact allocations, every target.
TEST(ResizePasses, EveryVectorTargetGivesTheScalarBytes) {
  SampleRandom random(5, 6, 0);
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (int round = 0; round < 150; ++round) {
      const int limit = round < 60 ? 12 : 120;
      const int in_width = Pick(&random, 1, limit), in_height = Pick(&random, 1, limit);
      const int out_width = Pick(&random, 1, limit), out_height = Pick(&random, 1, limit);
      const int channels = round % 3 == 0 ? 1 : 3;
      const ResizeFilter filter = kFilters[round % 5];
      const Image image(in_width, in_height, channels, static_cast<uint32_t>(round));
      const bool mirror = round % 2 == 1;
      std::vector<uint8_t> padded;

      FilterTable table;
      PairTable pairs;
      BuildFilterTable(filter, in_width, out_width, 0, out_width, mirror, &table);
      BuildPairTable(table, HorizontalGroup(channels), &pairs);
      const size_t row = static_cast<size_t>(out_width * channels);
      std::vector<uint8_t> wanted(row * static_cast<size_t>(in_height)), got(wanted.size());
      HorizontalPassScalar(table, image.view, wanted.data(), row);
      HorizontalPass(table, pairs, image.view, got.data(), row, &padded);
      ASSERT_EQ(wanted, got) << "columns, target " << target << ", " << in_width << " to " << out_width;

      BuildFilterTable(filter, in_height, out_height, 0, out_height, false, &table);
      BuildPairTable(table, 1, &pairs);
      const OutputRange all{0, out_height};
      const ImageView between{wanted.data(), out_width, in_height, channels, row};
      std::vector<uint8_t> wanted2(row * static_cast<size_t>(out_height)), got2(wanted2.size());
      VerticalPassScalar(table, all, between, 0, wanted2.data(), row);
      VerticalPass(table, pairs, all, between, 0, got2.data(), row);
      ASSERT_EQ(wanted2, got2) << "rows, target " << target << ", " << in_height << " to " << out_height;
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(ResizePasses, ExtremeValuesSaturate) {
  // Bicubic and Lanczos overshoot at hard edges.
  Image image(64, 64, 3, 1);
  for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = i / 3 / 4 % 2 == 0 ? 0 : 255;
  for (const ResizeFilter filter : kFilters) {
    for (const int size : {31, 64, 200}) {
      FilterTable table;
      PairTable pairs;
      std::vector<uint8_t> padded;
      BuildFilterTable(filter, 64, size, 0, size, false, &table);
      BuildPairTable(table, HorizontalGroup(3), &pairs);
      std::vector<uint8_t> wanted(static_cast<size_t>(size * 3 * 64)), got(wanted.size());
      HorizontalPassScalar(table, image.view, wanted.data(), static_cast<size_t>(size * 3));
      HorizontalPass(table, pairs, image.view, got.data(), static_cast<size_t>(size * 3), &padded);
      ASSERT_EQ(wanted, got);
    }
  }
}

TEST(Resize, AFlatImageStaysFlat) {
  Image image(57, 43, 3, 1);
  for (const int value : {0, 1, 127, 254, 255}) {
    std::fill(image.pixels.begin(), image.pixels.end(), static_cast<uint8_t>(value));
    for (const ResizeFilter filter : kFilters) {
      for (const auto& [width, height] : {std::pair{10, 90}, {57, 20}, {200, 43}, {1, 1}}) {
        ResizePlan plan = Whole(57, 43, width, height);
        plan.filter = filter;
        const std::vector<uint8_t> out = Resized(plan, image.view, image.all());
        EXPECT_EQ(std::count(out.begin(), out.end(), value), static_cast<int64_t>(out.size()));
      }
    }
  }
}

// If its environment asks for it, OpenCV writes errors to stderr, where they would be anonymous lines in a daemon's
// log. OpenCV reads the environment when it is loaded, here in the process of the death test.
TEST(ResizeDeathTest, OpencvErrorsAppearOnlyInTheStatus) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  setenv("OPENCV_DUMP_ERRORS", "1", 1);
  const auto resize_rows_too_near = [] {
    const Image image(8, 6, 3, 1);
    ImageView view = image.view;
    view.stride = 1;
    ResizePlan plan = Whole(8, 6, 4, 3);
    plan.method = ResizeMethod::kOpencvLinear;
    std::vector<uint8_t> out(4 * 3 * 3);
    const absl::Status status = Resizer().Run(plan, view, image.all(), out.data(), 12);
    std::_Exit(status.message().find("cv::resize: ") != std::string_view::npos ? 7 : 1);
  };
  EXPECT_EXIT(resize_rows_too_near(), ::testing::ExitedWithCode(7), "^$");
  unsetenv("OPENCV_DUMP_ERRORS");
}

TEST(Resize, EqualSizeIsACopy) {
  const Image image(33, 21, 3, 9);
  for (const ResizeFilter filter : {ResizeFilter::kBilinear, ResizeFilter::kLanczos, ResizeFilter::kNearest}) {
    ResizePlan plan = Whole(33, 21, 33, 21);
    plan.filter = filter;
    EXPECT_EQ(Resized(plan, image.view, image.all()), image.pixels);
  }
}

TEST(Resize, AMirroredResizeIsTheMirrorOfTheResize) {
  for (const int channels : {1, 3}) {
    const Image image(50, 40, channels, 3);
    for (const ResizeMethod method : {ResizeMethod::kPil, ResizeMethod::kOpencvLinear, ResizeMethod::kOpencvArea}) {
      for (const ResizeFilter filter : {ResizeFilter::kBilinear, ResizeFilter::kNearest}) {
        for (const auto& [width, height] : {std::pair{31, 17}, {50, 60}, {77, 40}, {50, 40}}) {
          ResizePlan plan = Whole(50, 40, width, height);
          plan.method = method;
          plan.filter = filter;
          const std::vector<uint8_t> straight = Resized(plan, image.view, image.all());
          plan.flip = true;
          const std::vector<uint8_t> flipped = Resized(plan, image.view, image.all());
          for (int y = 0; y < height; ++y) {
            for (int x = 0; x < width; ++x) {
              for (int c = 0; c < channels; ++c) {
                ASSERT_EQ(flipped[static_cast<size_t>((y * width + x) * channels + c)],
                          straight[static_cast<size_t>((y * width + width - 1 - x) * channels + c)]);
              }
            }
          }
        }
      }
    }
  }
}

// Windows of the result, from at most the source that SourceNeeded() returns.
TEST(Resize, AWindowEqualsItsPartOfTheWholeResult) {
  SampleRandom random(11, 1, 0);
  for (int round = 0; round < 200; ++round) {
    const int in_width = Pick(&random, 1, 90), in_height = Pick(&random, 1, 90);
    const int width = Pick(&random, 1, 90), height = round % 7 == 0 ? in_height : Pick(&random, 1, 90);
    const Image image(in_width, in_height, 3, static_cast<uint32_t>(round));
    ResizePlan plan = Whole(in_width, in_height, width, height);
    plan.filter = round % 6 == 5 ? ResizeFilter::kNearest : kFilters[round % 6];
    if (round % 11 == 0) plan.method = ResizeMethod::kOpencvArea;
    const std::vector<uint8_t> whole = Resized(plan, image.view, image.all());
    plan.window.width = Pick(&random, 1, width);
    plan.window.height = Pick(&random, 1, height);
    plan.window.x = Pick(&random, 0, width - plan.window.width);
    plan.window.y = Pick(&random, 0, height - plan.window.height);
    const Rect needed = SourceNeeded(plan);
    // A copy of that part only, so that a sanitizer detects any access outside.
    std::vector<uint8_t> part;
    for (int y = 0; y < needed.height; ++y) {
      const uint8_t* from = image.view.Crop(needed).row(y);
      part.insert(part.end(), from, from + needed.width * 3);
    }
    const std::vector<uint8_t> out =
        Resized(plan, {part.data(), needed.width, needed.height, 3, static_cast<size_t>(needed.width * 3)}, needed);
    for (int y = 0; y < plan.window.height; ++y) {
      const auto from = whole.begin() + ((plan.window.y + y) * width + plan.window.x) * 3;
      const std::vector<uint8_t> wanted(from, from + plan.window.width * 3);
      const auto at = out.begin() + y * plan.window.width * 3;
      ASSERT_EQ(wanted, std::vector<uint8_t>(at, at + plan.window.width * 3)) << round;
    }
  }
}

TEST(Resize, HoldsAtMostResizeBytes) {
  for (const auto& [in, out] : {std::pair{10, 400}, {400, 10}, {350, 224}, {224, 224}, {3000, 1}}) {
    for (const ResizeFilter filter : {ResizeFilter::kBilinear, ResizeFilter::kLanczos, ResizeFilter::kNearest}) {
      for (const ResizeMethod method : {ResizeMethod::kPil, ResizeMethod::kOpencvLinear}) {
        const Image image(in, 200, 3, 1);
        ResizePlan plan = Whole(in, 200, out, 50);
        plan.method = method;
        plan.filter = filter;
        plan.flip = true;
        std::vector<uint8_t> memory(static_cast<size_t>(out * 50 * 3));
        Resizer resizer;
        ASSERT_TRUE(resizer.Run(plan, image.view, image.all(), memory.data(), static_cast<size_t>(out * 3)).ok());
        EXPECT_LE(resizer.held_bytes(), ResizeBytes(plan, 3)) << in << " to " << out;
        Resizer gray;
        const ImageView one{image.pixels.data(), in, 200, 1, static_cast<size_t>(in)};
        ASSERT_TRUE(gray.Run(plan, one, image.all(), memory.data(), static_cast<size_t>(out)).ok());
        EXPECT_LE(gray.held_bytes(), ResizeBytes(plan, 1)) << in << " to " << out;
      }
    }
  }
}

// Pillow 13's result for small known images, verified with the Pillow of the reference data. It pins the arithmetic
// where the reference data is missing.
TEST(Resize, GoldenBytes) {
  const Image image(97, 61, 3, 2);
  uint64_t digest = 0;
  for (const ResizeFilter filter : {ResizeFilter::kBilinear, ResizeFilter::kBicubic, ResizeFilter::kLanczos,
                                    ResizeFilter::kBox, ResizeFilter::kHamming, ResizeFilter::kNearest}) {
    ResizePlan plan = Whole(97, 61, 40, 77);
    plan.filter = filter;
    const std::vector<uint8_t> out = Resized(plan, image.view, image.all());
    digest = Hash64(std::string_view(reinterpret_cast<const char*>(out.data()), out.size()), digest);
  }
  EXPECT_EQ(digest, 17040293374920980762u);
}

}  // namespace
}  // namespace penstock::image
