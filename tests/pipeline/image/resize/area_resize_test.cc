#include "pipeline/image/resize/area_resize.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/philox.h"
#include "opencv2/core.hpp"
#include "opencv2/imgproc.hpp"
#include "tests/pipeline/image/resize/random_resizes.h"

namespace penstock::image {
namespace {

#if defined(__x86_64__)
// OpenCV's library for this CPU multiplies and adds in two steps.
TEST(ResizeArea, HasTheBitsOfOpencv) {
  SampleRandom random(3, 0, 0);
  int compared = 0;
  for (int round = 0; round < 3000; ++round) {
    const int width = Pick(&random, 1, 90), height = Pick(&random, 1, 90), channels = Pick(&random, 1, 4);
    const int out_width = Pick(&random, 1, width), out_height = Pick(&random, 1, height);
    if (!ShrinksByFraction(width, height, out_width, out_height)) continue;
    ++compared;
    const size_t stride = static_cast<size_t>(width * channels + Pick(&random, 0, 5));
    std::vector<uint8_t> in(stride * static_cast<size_t>(height));
    for (uint8_t& value : in) value = static_cast<uint8_t>(random.Below(round % 2 == 0 ? 256 : 3));
    std::vector<uint8_t> out(static_cast<size_t>(out_width * out_height * channels));
    ResizeArea({in.data(), width, height, channels, stride}, out_width, out_height, out.data(),
               static_cast<size_t>(out_width * channels));
    const int type = CV_MAKETYPE(CV_8U, channels);
    cv::Mat expected;
    cv::resize(cv::Mat(height, width, type, in.data(), stride), expected, cv::Size(out_width, out_height), 0, 0,
               cv::INTER_AREA);
    ASSERT_EQ(out, std::vector<uint8_t>(expected.data, expected.data + out.size()))
        << width << " x " << height << " to " << out_width << " x " << out_height << ", " << channels << " channels";
  }
  EXPECT_GT(compared, 2000);
}
#endif

TEST(ResizeArea, IsForFractionsThatShrink) {
  EXPECT_TRUE(ShrinksByFraction(10, 10, 7, 7));
  EXPECT_TRUE(ShrinksByFraction(10, 10, 10, 7));
  EXPECT_TRUE(ShrinksByFraction(10, 10, 5, 7));
  EXPECT_FALSE(ShrinksByFraction(10, 10, 5, 2));
  EXPECT_FALSE(ShrinksByFraction(10, 10, 11, 7));
  EXPECT_FALSE(ShrinksByFraction(10, 10, 10, 10));
}

}  // namespace
}  // namespace penstock::image
