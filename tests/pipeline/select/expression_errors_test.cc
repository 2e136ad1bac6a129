// Errors of wrong expressions, with their exact texts.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "pipeline/select/expression.h"

namespace penstock::select {
namespace {

std::string ErrorOf(const std::string& text) {
  static const auto* const columns = new std::map<std::string, ColumnType>{
      {"width", ColumnType::kInt64}, {"height", ColumnType::kInt64},       {"ratio", ColumnType::kFloat},
      {"lang", ColumnType::kBytes},  {"image/height", ColumnType::kInt64}, {"json.score", ColumnType::kFloat},
  };
  const auto expression = Expression::Parse(text, *columns);
  if (expression.ok()) return "none";
  EXPECT_TRUE(absl::IsInvalidArgument(expression.status())) << expression.status();
  return std::string(expression.status().message());
}

constexpr char kFeatures[] = "the features are height, image/height, json.score, lang, ratio, width";

TEST(ExpressionErrors, NameThePlaceAndTheNearestName) {
  EXPECT_EQ(ErrorOf("widht >= 256"),
            absl::StrCat("there is no feature 'widht' (did you mean 'width'?); ", kFeatures, "\n  widht >= 256\n  ^"));
  EXPECT_EQ(ErrorOf("width > 1 and startwith(lang, 'e')"),
            "there is no function 'startwith' (did you mean 'startswith'?); the functions are col, len, bytes, has, "
            "hash, startswith, matches\n  width > 1 and startwith(lang, 'e')\n                ^");
  EXPECT_EQ(ErrorOf("image/height > 1"), absl::StrCat("there is no feature 'image' (write col('image/height')?); ",
                                                      kFeatures, "\n  image/height > 1\n  ^"));
  EXPECT_EQ(ErrorOf("score > 1 or imageheight > 1").substr(0, 34), "there is no feature 'score'; the f");
  EXPECT_EQ(ErrorOf("imageheight > 1").substr(0, 71),
            "there is no feature 'imageheight' (did you mean col('image/height')?); ");
  EXPECT_EQ(ErrorOf("json.score > 1"),
            "'.' is unknown; write a name with characters other than letters, digits and _ as col('NAME')\n"
            "  json.score > 1\n      ^");
  EXPECT_EQ(ErrorOf("len(col('heigth')) > 1"), absl::StrCat("there is no feature 'heigth' (did you mean 'height'?); ",
                                                            kFeatures, "\n  len(col('heigth')) > 1\n      ^"));
}

TEST(ExpressionErrors, OfTypes) {
  EXPECT_EQ(ErrorOf("width == 'a'"), "'==' cannot compare INT64 with STRING\n  width == 'a'\n        ^");
  EXPECT_EQ(ErrorOf("lang < ratio"), "'<' cannot compare STRING with DOUBLE\n  lang < ratio\n       ^");
  EXPECT_EQ(ErrorOf("(width > 1) == (height > 1)"),
            "'==' compares numbers or strings, not conditions; use `and`, `or` and `not`\n"
            "  (width > 1) == (height > 1)\n              ^");
  EXPECT_EQ(ErrorOf("width"),
            "the expression is INT64, not a condition; compare it, for example with == or >\n  width\n  ^");
  EXPECT_EQ(ErrorOf("width > 1 and height"),
            "`and` needs conditions, not INT64; compare the value, for example with == or >\n"
            "  width > 1 and height\n                ^");
  EXPECT_EQ(ErrorOf("not lang"),
            "`not` needs conditions, not STRING; compare the value, for example with == or >\n"
            "  not lang\n      ^");
  EXPECT_EQ(ErrorOf("lang + 1 > 2"), "'+' needs numbers, not STRING\n  lang + 1 > 2\n  ^");
  EXPECT_EQ(ErrorOf("1 - width % lang > 2"), "'%' needs numbers, not STRING\n  1 - width % lang > 2\n              ^");
  EXPECT_EQ(ErrorOf("-lang == 1"), "'-' needs a number, not STRING\n  -lang == 1\n  ^");
  EXPECT_EQ(
      ErrorOf("width in (1, 2.5)"),
      "a list has literals of one type; this is DOUBLE, the first is INT64\n  width in (1, 2.5)\n               ^");
  EXPECT_EQ(ErrorOf("width not in ('a')"),
            "`in` cannot compare INT64 with a list of STRING\n  width not in ('a')\n        ^");
}

TEST(ExpressionErrors, OfFunctions) {
  EXPECT_EQ(ErrorOf("len(width, 1) > 1"), "len() takes 1 argument: len(x)\n  len(width, 1) > 1\n  ^");
  EXPECT_EQ(ErrorOf("startswith(lang)"), "startswith() takes 2 arguments: startswith(x, 'p')\n  startswith(lang)\n  ^");
  EXPECT_EQ(ErrorOf("len(width + 1) > 1"),
            "len() needs the name of a feature: len(x) or len(col('NAME'))\n  len(width + 1) > 1\n      ^");
  EXPECT_EQ(ErrorOf("bytes(width) > 1"),
            "bytes() needs a feature of BYTES; 'width' is INT64 (len(x) is the number of values)\n"
            "  bytes(width) > 1\n        ^");
  EXPECT_EQ(ErrorOf("matches(width, 'a')"), "matches() needs a STRING, not INT64\n  matches(width, 'a')\n          ^");
  EXPECT_EQ(ErrorOf("startswith(lang, lang)"),
            "the second argument of startswith() is a string in quotes: startswith(x, 'p')\n"
            "  startswith(lang, lang)\n                   ^");
  EXPECT_EQ(ErrorOf("matches(lang, 'a(b')"),
            "the pattern is wrong: missing ): a(b\n  matches(lang, 'a(b')\n                ^");
  EXPECT_EQ(ErrorOf("matches(lang, '((a{1000}){1000}){1000}')"),
            "the pattern is wrong: invalid repetition size: {1000}\n"
            "  matches(lang, '((a{1000}){1000}){1000}')\n                ^");
  EXPECT_EQ(ErrorOf(absl::StrCat("matches(lang, '(", std::string(300, 'a'), "){1000}')")).substr(0, 57),
            "the pattern is wrong: pattern too large - compile failed\n");
  EXPECT_EQ(ErrorOf("hash(width > 1) > 1"),
            "hash() needs a number or a string, not a condition\n  hash(width > 1) > 1\n       ^");
  EXPECT_EQ(ErrorOf("has(col(width))"),
            "the name of a feature is expected here, in quotes\n  has(col(width))\n          ^");
}

TEST(ExpressionErrors, OfGrammar) {
  EXPECT_EQ(ErrorOf(""), "the expression is empty\n  \n  ^");
  EXPECT_EQ(ErrorOf("0 < width < 10"),
            "comparisons do not chain; write `0 < width` and `width < 10`, joined with `and`\n"
            "  0 < width < 10\n            ^");
  EXPECT_EQ(ErrorOf("width in (1) in (2)"),
            "comparisons do not chain; join them with `and`, or put one in parentheses\n"
            "  width in (1) in (2)\n               ^");
  EXPECT_EQ(ErrorOf("width = 3"), "'=' is unknown; write `==` to compare\n  width = 3\n        ^");
  EXPECT_EQ(ErrorOf("width > 3 && width < 5"), "'&&' is unknown; write `and`\n  width > 3 && width < 5\n            ^");
  EXPECT_EQ(ErrorOf("width > 3 width"), "an operator or the end is expected here\n  width > 3 width\n            ^");
  EXPECT_EQ(ErrorOf("width > 3)"), "no parenthesis is open here\n  width > 3)\n           ^");
  EXPECT_EQ(ErrorOf("(width > 3"), "')' is expected here\n  (width > 3\n            ^");
  EXPECT_EQ(ErrorOf("width >"), "the expression ends here; a value is expected\n  width >\n         ^");
  EXPECT_EQ(ErrorOf("width > and"),
            "a value is expected here, not `and`; a feature of this name is col('and')\n  width > and\n          ^");
  EXPECT_EQ(ErrorOf("width in ()"), "the list is empty\n  width in ()\n            ^");
  EXPECT_EQ(ErrorOf("width in 3"),
            "a list in parentheses is expected here, such as (1, 2)\n  width in 3\n           ^");
  EXPECT_EQ(ErrorOf("width in (height)"),
            "a list has only literals: numbers or strings\n  width in (height)\n            ^");
  EXPECT_EQ(ErrorOf("width in (1 + 2)"),
            "',' or ')' is expected here; a list has only literals\n  width in (1 + 2)\n              ^");
  EXPECT_EQ(
      ErrorOf("width not 3"),
      "`in` is expected after `not` here; `not` before a condition precedes all of it\n  width not 3\n            ^");
  EXPECT_EQ(ErrorOf("lang == 'de"), "the string has no closing '\n  lang == 'de\n          ^");
  EXPECT_EQ(ErrorOf("matches(lang, '\\d')"),
            "unknown escape; the escapes are \\\\ \\' \\\" \\n \\t and \\xNN, so write \\\\ for a backslash\n"
            "  matches(lang, '\\d')\n                 ^");
  EXPECT_EQ(ErrorOf("width > 3x"), "a number ends here; a letter cannot follow it\n  width > 3x\n           ^");
  EXPECT_EQ(ErrorOf("width > 007"),
            "an integer begins with 0; write it in decimal, without leading zeros\n  width > 007\n          ^");
  EXPECT_EQ(ErrorOf("width > 9223372036854775808"),
            "the integer exceeds the range of INT64; with a decimal point it is a DOUBLE\n"
            "  width > 9223372036854775808\n          ^");
  EXPECT_EQ(ErrorOf("ratio > 1e999"), "the number exceeds the range of DOUBLE\n  ratio > 1e999\n          ^");
  EXPECT_EQ(ErrorOf("width > $"), "unexpected character\n  width > $\n          ^");
}

TEST(ExpressionErrors, ShowOneLineOfTheText) {
  EXPECT_EQ(ErrorOf("width > 1\nand\n  lang > 2\nand width > 3"),
            "'>' cannot compare STRING with INT64\n    lang > 2\n         ^");
  EXPECT_EQ(ErrorOf("lang == 'Zürich' and\twidht > 1"),
            absl::StrCat("there is no feature 'widht' (did you mean 'width'?); ", kFeatures,
                         "\n  lang == 'Zürich' and widht > 1\n                       ^"));
  EXPECT_EQ(ErrorOf("lang == '\xff\x01' and x"),
            absl::StrCat("there is no feature 'x'; ", kFeatures, "\n  lang == '?\?' and x\n                   ^"));
  // 60 characters before the place, and 40 from there on.
  const std::string before(500, ' '), after(500, ' ');
  EXPECT_EQ(ErrorOf(absl::StrCat("width > 1 and", before, "$", after)),
            absl::StrCat("unexpected character\n  ...", std::string(60, ' '), "$", std::string(39, ' '), "...\n  ",
                         std::string(63, ' '), "^"));
}

std::string Repeated(int count, const std::string& part) {
  std::string out;
  for (int i = 0; i < count; ++i) out += part;
  return out;
}

TEST(ExpressionErrors, LimitTheText) {
  EXPECT_EQ(ErrorOf(std::string(64 << 10, ' ') + "1"), "the expression has 65537 bytes; at most 65536 are allowed");
  EXPECT_EQ(ErrorOf(std::string((64 << 10) - 6, ' ') + "1 == 1"), "none");
}

TEST(ExpressionErrors, LimitTheNesting) {
  for (const auto& [open, close] : {std::pair("(", ")"), std::pair("not ", ""), std::pair("not (", ")")}) {
    const int levels = open == std::string("not (") ? 32 : 64;
    EXPECT_EQ(ErrorOf(Repeated(levels, open) + "1 == 1" + Repeated(levels, close)), "none") << open;
    EXPECT_EQ(ErrorOf(Repeated(levels + 1, open) + "1 == 1" + Repeated(levels + 1, close)).substr(0, 50),
              "the expression is nested more than 64 levels deep\n")
        << open;
  }
  EXPECT_EQ(ErrorOf(Repeated(64, "- ") + "width == 1"), "none");
  EXPECT_EQ(ErrorOf(Repeated(65, "- ") + "width == 1").substr(0, 49),
            "the expression is nested more than 64 levels deep");
  EXPECT_EQ(ErrorOf(Repeated(30000, "(")).substr(0, 49), "the expression is nested more than 64 levels deep");
  // Chains of operators are no nesting.
  EXPECT_EQ(ErrorOf("width == 1" + Repeated(3000, " or width == 1")), "none");
  EXPECT_EQ(ErrorOf("width" + Repeated(3000, " + 1") + " > 1"), "none");
}

TEST(ExpressionErrors, LimitTheParts) {
  EXPECT_EQ(ErrorOf("width in (1" + Repeated(16380, ",1") + ")"), "none");
  EXPECT_EQ(ErrorOf("width in (1" + Repeated(16390, ",1") + ")").substr(0, 43),
            "the expression has more than 16384 parts\n  ");
}

}  // namespace
}  // namespace penstock::select
