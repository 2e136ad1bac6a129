#include "config/near_name.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(NearName, FindsATypingMistake) {
  const std::vector<std::string> names = {"random_resized_crop", "random_horizontal_flip", "resize"};
  EXPECT_EQ(NearName("random_resize_crop", names), "random_resized_crop");
  EXPECT_EQ(NearName("rezise", names), "resize");
  EXPECT_EQ(NearName("RESIZE", names), "resize");
}

TEST(NearName, IsSilentWhenNothingIsNear) {
  EXPECT_EQ(NearName("banana", {"random_resized_crop", "resize"}), "");
  EXPECT_EQ(NearName("", {"a"}), "");
  EXPECT_EQ(DidYouMean("banana", {"resize"}), "");
}

}  // namespace
}  // namespace penstock
