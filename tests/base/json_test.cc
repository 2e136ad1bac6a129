#include "base/json.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock {
namespace {

TEST(JsonEscaped, QuotesWhatJsonMustQuote) {
  EXPECT_EQ(JsonEscaped("a \"b\"\\\n\r\t\x01"), "a \\\"b\\\"\\\\\\n\\r\\t\\u0001");
  EXPECT_EQ(JsonEscaped(std::string("\0", 1)), "\\u0000");
}

TEST(JsonEscaped, Utf8StaysAndOtherBytesAreReplaced) {
  const std::string good = "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x90\x95 \x7F";
  EXPECT_EQ(JsonEscaped(good), good);
  EXPECT_EQ(JsonEscaped("\xFF"), "\\ufffd");
  EXPECT_EQ(JsonEscaped("\xC3"), "\\ufffd");                                   // cut off
  EXPECT_EQ(JsonEscaped("\xC0\xAF"), "\\ufffd\\ufffd");                        // overlong
  EXPECT_EQ(JsonEscaped("\xED\xA0\x80"), "\\ufffd\\ufffd\\ufffd");             // a surrogate
  EXPECT_EQ(JsonEscaped("\xF4\x90\x80\x80"), "\\ufffd\\ufffd\\ufffd\\ufffd");  // above U+10FFFF
  EXPECT_EQ(JsonEscaped("a\x80z"), "a\\ufffdz");
}

}  // namespace
}  // namespace penstock
