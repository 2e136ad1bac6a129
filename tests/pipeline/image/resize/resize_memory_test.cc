// ResizeBytes is an upper bound of the memory of a resize, with what OpenCV allocates.
#include <gtest/gtest.h>

#include <vector>

#include "pipeline/image/resize/resize.h"
#include "tests/support/allocation_peak.h"

namespace penstock::image {
namespace {

struct Sizes {
  int box_width, box_height, out_width, out_height;
};

TEST(ResizeMemory, AResizeTakesAtMostResizeBytes) {
  const Sizes all[] = {{1, 65500, 1, 65500}, {1, 65500, 1, 1},   {1, 65500, 1, 40000}, {65500, 1, 65500, 1},
                       {65500, 1, 1, 1},     {1, 1, 1, 65500},   {1, 1, 65500, 1},     {2000, 2000, 1, 1},
                       {2000, 2000, 7, 3},   {1, 40000, 1, 801}, {300, 200, 450, 100}, {640, 480, 320, 240}};
  for (const Sizes& sizes : all) {
    for (const int channels : {1, 3}) {
      const size_t row = static_cast<size_t>(sizes.box_width) * static_cast<size_t>(channels);
      const size_t out_row = static_cast<size_t>(sizes.out_width) * static_cast<size_t>(channels);
      const std::vector<uint8_t> in(row * static_cast<size_t>(sizes.box_height), 7);
      std::vector<uint8_t> out(out_row * static_cast<size_t>(sizes.out_height));
      for (const ResizeMethod method :
           {ResizeMethod::kPil, ResizeMethod::kOpencvLinear, ResizeMethod::kOpencvArea, ResizeMethod::kTfBilinear}) {
        for (const ResizeFilter filter : {ResizeFilter::kNearest, ResizeFilter::kBilinear}) {
          for (const bool flip : {false, true}) {
            const ResizePlan plan{.box_width = sizes.box_width,
                                  .box_height = sizes.box_height,
                                  .out_width = sizes.out_width,
                                  .out_height = sizes.out_height,
                                  .window = {0, 0, sizes.out_width, sizes.out_height},
                                  .flip = flip,
                                  .method = method,
                                  .filter = filter};
            Resizer resizer;
            const support::AllocationPeak peak;
            ASSERT_TRUE(resizer
                            .Run(plan, {in.data(), sizes.box_width, sizes.box_height, channels, row},
                                 {0, 0, sizes.box_width, sizes.box_height}, out.data(), out_row)
                            .ok());
            EXPECT_LE(peak.bytes(), ResizeBytes(plan, channels))
                << sizes.box_width << " x " << sizes.box_height << " to " << sizes.out_width << " x "
                << sizes.out_height << ", channels " << channels << ", method " << static_cast<int>(method)
                << ", filter " << static_cast<int>(filter) << ", flip " << flip;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace penstock::image
