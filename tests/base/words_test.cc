#include "base/words.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(Words, AreCutBetweenCharacters) {
  std::string text = "x\xc3\xa9\xc3\xa9";
  Shorten(&text, 4);
  EXPECT_EQ(text, "x\xc3\xa9");
  EXPECT_EQ(WireWords("x\xc3\xa9\xc3\xa9", 4), "x\xc3\xa9");
}

TEST(Words, ForTheWireAreUtf8WhateverTheBytes) {
  EXPECT_EQ(WireWords("train-\xff\xc3.tfrecord, \xc3\xa9", 100), "train-??.tfrecord, \xc3\xa9");
  EXPECT_EQ(WireWords("", 100), "");
}

}  // namespace
}  // namespace penstock
