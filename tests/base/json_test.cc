#include "base/json.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace penstock {
namespace {

TEST(JsonEscaped, EscapesQuotesBackslashesAndControlCharacters) {
  EXPECT_EQ(JsonEscaped("a \"b\"\\\n\r\t\x01"), "a \\\"b\\\"\\\\\\n\\r\\t\\u0001");
  EXPECT_EQ(JsonEscaped(std::string("\0", 1)), "\\u0000");
}

TEST(JsonEscaped, KeepsUtf8AndReplacesOtherBytes) {
  const std::string good = "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x90\x95 \x7F";
  EXPECT_EQ(JsonEscaped(good), good);
  EXPECT_EQ(JsonEscaped("\xFF"), "\\ufffd");
  EXPECT_EQ(JsonEscaped("\xC3"), "\\ufffd");                                   // cut off
  EXPECT_EQ(JsonEscaped("\xC0\xAF"), "\\ufffd\\ufffd");                        // overlong
  EXPECT_EQ(JsonEscaped("\xED\xA0\x80"), "\\ufffd\\ufffd\\ufffd");             // a surrogate
  EXPECT_EQ(JsonEscaped("\xF4\x90\x80\x80"), "\\ufffd\\ufffd\\ufffd\\ufffd");  // above U+10FFFF
  EXPECT_EQ(JsonEscaped("a\x80z"), "a\\ufffdz");
}

TEST(Json, ObjectsKeepTheOrderOfTheirMembers) {
  EXPECT_EQ(Json().Object(), "{}");
  EXPECT_EQ(Json().Field("a\"b", "x\n\x01").Field("n", uint64_t{18446744073709551615u}).Field("i", -1).Object(),
            "{\"a\\\"b\": \"x\\n\\u0001\", \"n\": 18446744073709551615, \"i\": -1}");
  EXPECT_EQ(Json().Field("rate", 0.5).Field("ok", true).Field("text", std::string("true")).Object(),
            "{\"rate\": 0.5, \"ok\": true, \"text\": \"true\"}");
  EXPECT_EQ(Json().Raw("list", "[1]").Field("again", false).Object(), "{\"list\": [1], \"again\": false}");
}

TEST(Json, InfinityAndNanAreNull) {
  EXPECT_EQ(Json().Field("rate", std::numeric_limits<double>::infinity()).Object(), "{\"rate\": null}");
  EXPECT_EQ(Json().Field("rate", std::numeric_limits<double>::quiet_NaN()).Object(), "{\"rate\": null}");
}

TEST(Json, ArraysContainRawValuesOrQuotedTexts) {
  EXPECT_EQ(Json::Array({}), "[]");
  EXPECT_EQ(Json::Array({"1", "{}"}), "[1, {}]");
  EXPECT_EQ(Json::QuotedArray({"1", "a\"b"}), "[\"1\", \"a\\\"b\"]");
}

}  // namespace
}  // namespace penstock
