#include "base/utf8.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(Utf8, TruncationKeepsWholeCharacters) {
  std::string text = "x\xc3\xa9\xc3\xa9";
  TruncateUtf8(&text, 4);
  EXPECT_EQ(text, "x\xc3\xa9");
  EXPECT_EQ(TruncatedUtf8("x\xc3\xa9\xc3\xa9", 4), "x\xc3\xa9");
}

TEST(Utf8, TruncatedTextReplacesInvalidBytes) {
  EXPECT_EQ(TruncatedUtf8("train-\xff\xc3.tfrecord, \xc3\xa9", 100), "train-??.tfrecord, \xc3\xa9");
  EXPECT_EQ(TruncatedUtf8("", 100), "");
}

}  // namespace
}  // namespace penstock
