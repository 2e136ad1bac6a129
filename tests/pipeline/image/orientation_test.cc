#include "pipeline/image/orientation.h"

#include <gtest/gtest.h>

#include <vector>

namespace penstock::image {
namespace {

TEST(Orientation, EachPartOfTheUprightImageComesFromItsPartOfTheStoredImage) {
  const int width = 5, height = 3;
  std::vector<uint8_t> stored(15);
  for (size_t i = 0; i < 15; ++i) stored[i] = static_cast<uint8_t>(i);
  const ImageView view{stored.data(), width, height, 1, 5};
  // The corners of the upright image, according to EXIF's table.
  const uint8_t top_left[9] = {0, 0, 4, 14, 10, 0, 10, 14, 4};
  const uint8_t top_right[9] = {0, 4, 0, 10, 14, 10, 0, 4, 14};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const bool swap = SwapsSides(orientation);
    const int w = swap ? height : width, h = swap ? width : height;
    std::vector<uint8_t> upright(15);
    TurnUpright(view, orientation, upright.data(), static_cast<size_t>(w));
    EXPECT_EQ(upright[0], top_left[orientation]) << orientation;
    EXPECT_EQ(upright[static_cast<size_t>(w - 1)], top_right[orientation]) << orientation;
    for (int x = 0; x < w; ++x) {
      for (int y = 0; y < h; ++y) {
        const Rect rect{x, y, w - x, h - y};
        const Rect from = StoredRect(rect, orientation, width, height);
        ASSERT_TRUE(from.Inside(width, height));
        std::vector<uint8_t> part(static_cast<size_t>(rect.width * rect.height));
        TurnUpright(view.Crop(from), orientation, part.data(), static_cast<size_t>(rect.width));
        for (int j = 0; j < rect.height; ++j) {
          for (int i = 0; i < rect.width; ++i) {
            ASSERT_EQ(part[static_cast<size_t>(j * rect.width + i)], upright[static_cast<size_t>((y + j) * w + x + i)]);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace penstock::image
