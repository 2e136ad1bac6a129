#include "base/near_name.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(NearName, FindsATypingMistake) {
  const std::vector<std::string> names = {"random_resized_crop", "random_horizontal_flip", "resize"};
  EXPECT_EQ(NearName("random_resize_crop", names), "random_resized_crop");
  EXPECT_EQ(NearName("rezise", names), "resize");
  EXPECT_EQ(NearName("RESIZE", names), "resize");
}

TEST(NearName, FindsANameByAPartOfIt) {
  const std::vector<std::string> names = {"random_horizontal_flip", "random_vertical_flip", "resize",
                                          "random_resized_crop"};
  EXPECT_EQ(NearName("horizontal_flip", names), "random_horizontal_flip");
  EXPECT_EQ(NearName("resized_crop", names), "random_resized_crop");
  EXPECT_EQ(NearName("flip", names), "random_vertical_flip");  // the shortest
  EXPECT_EQ(NearName("crop_of_mine", names), "");
  EXPECT_EQ(NearName("siz", names), "");  // no whole word
}

TEST(NearName, IsEmptyIfNoNameIsNear) {
  EXPECT_EQ(NearName("banana", {"random_resized_crop", "resize"}), "");
  EXPECT_EQ(NearName("", {"a"}), "");
  EXPECT_EQ(DidYouMean("banana", {"resize"}), "");
}

}  // namespace
}  // namespace penstock
