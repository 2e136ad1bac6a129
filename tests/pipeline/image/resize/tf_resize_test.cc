#include "pipeline/image/resize/tf_resize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/philox.h"
#include "hwy/targets.h"
#include "pipeline/image/resize/resize.h"
#include "pipeline/image/resize/tf_resize_loops.h"
#include "tests/pipeline/image/jpeg_maker.h"

namespace penstock::image {
namespace {

struct TfImage {
  std::vector<uint8_t> pixels;
  ImageView view;
  TfImage(int width, int height, int channels, uint32_t seed)
      : pixels(MakePixels(width, height, channels, seed)),
        view{pixels.data(), width, height, channels, static_cast<size_t>(width * channels)} {}
  double At(int x, int y, int c) const {
    x = std::clamp(x, 0, view.width - 1);
    y = std::clamp(y, 0, view.height - 1);
    return pixels[static_cast<size_t>((y * view.width + x) * view.channels + c)];
  }
};

std::vector<float> FloatResult(bool antialias, const TfImage& image, int width, int height) {
  TfAxis columns, rows;
  BuildTfAxis(antialias, image.view.width, width, 0, width, false, &columns);
  BuildTfAxis(antialias, image.view.height, height, 0, height, false, &rows);
  TfRows result;
  result.Start(columns, rows, image.view);
  std::vector<float> out;
  for (int y = 0; y < height; ++y) {
    const float* row = result.Row(y);
    out.insert(out.end(), row, row + width * image.view.channels);
  }
  return out;
}

// The definition in double precision: a bilinear blend of the four pixels around the center. With antialias it is a
// triangle around the center, as wide as an output pixel (and at least an input pixel), cut at the border and
// normalized.
double Plain(bool antialias, const TfImage& image, int width, int height, int x, int y, int c) {
  const double step_x = 1.0 * image.view.width / width, step_y = 1.0 * image.view.height / height;
  const double center_x = (x + 0.5) * step_x, center_y = (y + 0.5) * step_y;
  const double wide = antialias ? std::max(step_x, 1.0) : 1.0, high = antialias ? std::max(step_y, 1.0) : 1.0;
  const auto triangle = [](double distance) { return std::max(0.0, 1.0 - std::fabs(distance)); };
  double sum = 0, weights = 0;
  for (int v = static_cast<int>(center_y - high) - 2; v <= center_y + high + 2; ++v) {
    for (int u = static_cast<int>(center_x - wide) - 2; u <= center_x + wide + 2; ++u) {
      // Outside the image, antialias ignores pixels and the plain blend repeats the border.
      if (antialias && (u < 0 || v < 0 || u >= image.view.width || v >= image.view.height)) continue;
      const double weight = triangle((u + 0.5 - center_x) / wide) * triangle((v + 0.5 - center_y) / high);
      sum += weight * image.At(u, v, c);
      weights += weight;
    }
  }
  return sum / weights;
}

class SetTargets {
 public:
  explicit SetTargets(int64_t target) { hwy::SetSupportedTargetsForTest(target); }
  ~SetTargets() { hwy::SetSupportedTargetsForTest(0); }
};

constexpr std::pair<int, int> kSizes[] = {{24, 31}, {1, 1}, {90, 70}, {60, 47}, {7, 120}, {61, 48}, {200, 3}};

TEST(TfResize, MatchesThePlainFormula) {
  for (const bool antialias : {false, true}) {
    for (const int channels : {1, 3}) {
      const TfImage image(61, 47, channels, 4);
      for (const auto& [width, height] : kSizes) {
        const std::vector<float> ours = FloatResult(antialias, image, width, height);
        double worst = 0;
        for (int y = 0; y < height; ++y) {
          for (int x = 0; x < width; ++x) {
            for (int c = 0; c < channels; ++c) {
              const double wanted = Plain(antialias, image, width, height, x, y, c);
              worst = std::max(worst, std::fabs(wanted - ours[static_cast<size_t>((y * width + x) * channels + c)]));
            }
          }
        }
        EXPECT_LT(worst, 1.0 / 512) << antialias << " " << width << " x " << height;  // float32's own error
      }
    }
  }
}

TEST(TfResize, EveryVectorTargetGivesTheSameBits) {
  for (const int channels : {1, 3}) {
    for (const auto& [in_width, in_height] : {std::pair{61, 47}, {1, 1}, {2, 3}, {5, 9}, {130, 20}}) {
      const TfImage image(in_width, in_height, channels, 7);
      for (const auto& [width, height] : kSizes) {
        for (const bool antialias : {false, true}) {
          std::vector<float> wanted;
          std::vector<uint8_t> wanted_bytes;
          for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
            SetTargets force(target);
            const std::vector<float> got = FloatResult(antialias, image, width, height);
            std::vector<uint8_t> bytes(got.size());
            TfStore(got.data(), got.size(), bytes.data());
            if (wanted.empty()) {
              wanted = got;
              wanted_bytes = bytes;
            }
            ASSERT_EQ(wanted, got) << "target " << target << ", " << width << " x " << height;
            ASSERT_EQ(wanted_bytes, bytes) << "target " << target;
          }
        }
      }
    }
  }
}

TEST(TfResize, TheLoopsMatchTheScalarLoops) {
  const TfImage image(77, 5, 3, 8);
  std::vector<float> wide(77 * 3 + 8), wanted(200 * 3 + 8), got(200 * 3 + 8);
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SetTargets force(target);
    TfWiden(image.pixels.data(), 77 * 3, wide.data());
    for (size_t i = 0; i < 77 * 3; ++i) ASSERT_EQ(wide[i], static_cast<float>(image.pixels[i]));
    for (const bool antialias : {false, true}) {
      for (const int outputs : {1, 2, 30, 77, 200}) {
        TfAxis axis;
        BuildTfAxis(antialias, 77, outputs, 0, outputs, true, &axis);
        TfColumnsScalar(axis, 3, wide.data(), wanted.data());
        TfColumns(axis, 3, wide.data(), got.data());
        for (size_t i = 0; i < static_cast<size_t>(outputs) * 3; ++i) ASSERT_EQ(wanted[i], got[i]);
      }
    }
    const float weight[] = {0.1f, 0.3f, 0.25f, 0.2f, 0.15f};
    TfSumRows(image.pixels.data(), image.view.stride, 77 * 3, weight, 5, got.data());
    for (size_t i = 0; i < 77 * 3; ++i) {
      float sum = 0;
      for (size_t t = 0; t < 5; ++t) sum += static_cast<float>(image.pixels[t * image.view.stride + i]) * weight[t];
      ASSERT_EQ(sum, got[i]);
    }
  }
}

TEST(TfResize, ValuesRoundHalfToEvenAndSaturate) {
  const std::vector<float> row = {-0.5f,  -0.0f,  0.5f,   1.5f,       2.5f,  2.4999998f,
                                  253.5f, 254.5f, 255.0f, 255.00002f, 300.0f};
  const std::vector<uint8_t> wanted = {0, 0, 0, 2, 2, 2, 254, 254, 255, 255, 255};
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SetTargets force(target);
    for (size_t repeat = 1; repeat < 4; ++repeat) {  // within the vectors and after them
      std::vector<float> in;
      std::vector<uint8_t> want;
      for (size_t r = 0; r < repeat; ++r) {
        in.insert(in.end(), row.begin(), row.end());
        want.insert(want.end(), wanted.begin(), wanted.end());
      }
      std::vector<uint8_t> out(in.size());
      TfStore(in.data(), in.size(), out.data());
      ASSERT_EQ(out, want) << target;
    }
  }
}

// Through the Resizer: any window and mirror of the result, from at most the source that SourceNeeded() returns.
TEST(TfResize, AWindowEqualsItsPartOfTheWholeResult) {
  SampleRandom random(3, 1, 0);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random.Below(static_cast<uint32_t>(high - low + 1)));
  };
  for (int round = 0; round < 200; ++round) {
    const bool antialias = round % 2 == 0;
    const int channels = round % 5 == 0 ? 1 : 3;
    const TfImage image(pick(1, 90), pick(1, 90), channels, static_cast<uint32_t>(round));
    const int width = pick(1, 90), height = pick(1, 90);
    std::vector<float> whole = FloatResult(antialias, image, width, height);
    std::vector<uint8_t> bytes(whole.size());
    TfStore(whole.data(), whole.size(), bytes.data());
    ResizePlan plan{.box_width = image.view.width,
                    .box_height = image.view.height,
                    .out_width = width,
                    .out_height = height,
                    .flip = round % 3 == 0,
                    .method = antialias ? ResizeMethod::kTfBilinearAntialias : ResizeMethod::kTfBilinear};
    plan.window.width = pick(1, width);
    plan.window.height = pick(1, height);
    plan.window.x = pick(0, width - plan.window.width);
    plan.window.y = pick(0, height - plan.window.height);
    const Rect needed = SourceNeeded(plan);
    std::vector<uint8_t> part;  // a copy, so that a sanitizer detects any access outside
    for (int y = 0; y < needed.height; ++y) {
      const uint8_t* from = image.view.Crop(needed).row(y);
      part.insert(part.end(), from, from + needed.width * channels);
    }
    const size_t row = static_cast<size_t>(plan.window.width * channels);
    std::vector<uint8_t> out(row * static_cast<size_t>(plan.window.height));
    Resizer resizer;
    ASSERT_TRUE(
        resizer
            .Run(plan,
                 {part.data(), needed.width, needed.height, channels, static_cast<size_t>(needed.width * channels)},
                 needed, out.data(), row)
            .ok());
    EXPECT_LE(resizer.held_bytes(), ResizeBytes(plan, channels));
    for (int y = 0; y < plan.window.height; ++y) {
      for (int x = 0; x < plan.window.width; ++x) {
        const int column = plan.window.x + (plan.flip ? plan.window.width - 1 - x : x);
        for (int c = 0; c < channels; ++c) {
          ASSERT_EQ(out[static_cast<size_t>(y) * row + static_cast<size_t>(x * channels + c)],
                    bytes[static_cast<size_t>(((plan.window.y + y) * width + column) * channels + c)])
              << round;
        }
      }
    }
  }
}

}  // namespace
}  // namespace penstock::image
