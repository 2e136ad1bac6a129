#include "pipeline/select/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "tests/pipeline/select/select_testing.h"

namespace penstock::select {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();

const std::map<std::string, ColumnType>& Columns() {
  static const auto* const columns = new std::map<std::string, ColumnType>{
      {"width", ColumnType::kInt64},     {"height", ColumnType::kInt64},       {"least", ColumnType::kInt64},
      {"most", ColumnType::kInt64},      {"ratio", ColumnType::kFloat},        {"nan", ColumnType::kFloat},
      {"lang", ColumnType::kBytes},      {"image/height", ColumnType::kInt64}, {"tokens", ColumnType::kInt64},
      {"captions", ColumnType::kBytes},  {"gone", ColumnType::kInt64},         {"gone_text", ColumnType::kBytes},
      {"gone_real", ColumnType::kFloat}, {"empty", ColumnType::kInt64},        {"in", ColumnType::kInt64},
  };
  return *columns;
}

const TestRecord& Record() {
  static const auto* const record = new TestRecord{
      {"width", std::vector<int64_t>{640}},      {"height", std::vector<int64_t>{-7}},
      {"least", std::vector<int64_t>{kLeast}},   {"most", std::vector<int64_t>{kMost}},
      {"ratio", std::vector<double>{2.5}},       {"nan", std::vector<double>{std::numeric_limits<double>::quiet_NaN()}},
      {"lang", std::vector<std::string>{"de"}},  {"image/height", std::vector<int64_t>{480}},
      {"tokens", std::vector<int64_t>{1, 2, 3}}, {"captions", std::vector<std::string>{"ab", "", "cde"}},
      {"empty", std::vector<int64_t>{}},         {"in", std::vector<int64_t>{1}},
  };
  return *record;
}

absl::StatusOr<bool> Evaluated(const std::string& text) {
  const absl::StatusOr<Expression> expression = Expression::Parse(text, Columns());
  if (!expression.ok()) return expression.status();
  return Matches(*expression, Record());
}

void ExpectAll(bool expected, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const absl::StatusOr<bool> result = Evaluated(text);
    ASSERT_TRUE(result.ok()) << text << ": " << result.status();
    EXPECT_EQ(*result, expected) << text;
  }
}

TEST(Expression, ComparesNumbersAndStrings) {
  ExpectAll(true, {"width == 640", "width != 641", "width < 641", "width <= 640", "width > 639", "width >= 640",
                   "ratio == 2.5", "ratio > 2", "2 < ratio", "lang == 'de'", "lang != \"en\"", "lang < 'df'",
                   "lang > 'd'", "'a' < 'b'", "'\\xff' > 'z'", "'' < '\\x00'", "col('image/height') == 480",
                   "col(\"width\") == 640", "col('in') == 1"});
  ExpectAll(false, {"width == 641", "width < 640", "ratio >= 2.75", "lang == 'DE'", "lang >= 'df'", "'a' != 'a'"});
}

TEST(Expression, ComparesIntegersWithRealsExactly) {
  // 2^53 + 1 and 2^63 - 1 have no DOUBLE.
  ExpectAll(true, {"9007199254740993 > 9007199254740992.0", "9007199254740993 != 9007199254740992.0",
                   "most < 9223372036854775808.0", "most != 9223372036854775808.0", "least == -9223372036854775808.0",
                   "least > -1e300", "most < 1e300", "3 < 3.5", "-3 > -3.5", "-4 < -3.5", "0 == -0.0"});
  ExpectAll(false, {"9007199254740993 == 9007199254740992.0", "most == 9223372036854775808.0", "3 >= 3.5"});
}

TEST(Expression, OperatorsHaveThePrecedenceOfPython) {
  ExpectAll(true, {"2 + 3 * 4 == 14", "(2 + 3) * 4 == 20", "10 - 4 - 3 == 3", "2 * 7 // 4 == 3", "-7 // 2 == -4",
                   "-width // 3 == -214", "- - 3 == 3", "1 == 2 or 1 == 1 and 2 == 2", "not 1 == 2",
                   "not (1 == 1 and 1 == 2)", "not 1 == 2 and 1 == 1", "not not 1 == 1", "1 == 1 or 1 == 1 and 1 == 2",
                   "2 - -3 == 5", "7 % 4 * 2 == 6"});
  ExpectAll(false, {"(1 == 1 or 1 == 1) and 1 == 2", "not 1 == 1 or 1 == 2"});
}

TEST(Expression, ArithmeticOfIntegersFloors) {
  ExpectAll(true, {"7 // 2 == 3", "-7 // 2 == -4", "7 // -2 == -4", "-7 // -2 == 3", "7 % 3 == 1", "-7 % 3 == 2",
                   "7 % -3 == -2", "-7 % -3 == -1", "6 // -3 == -2", "-6 % 3 == 0", "least // 1 == least",
                   "least % -1 == 0", "most // -1 == -most", "height % 4 == 1", "width - height == 647", "7 / 2 == 3.5",
                   "-6 / 3 == -2", "width / 256 == ratio"});
}

TEST(Expression, ArithmeticOfRealsFloors) {
  ExpectAll(true, {"7.5 // 2 == 3", "-7.5 // 2 == -4", "7.5 % 2 == 1.5", "-7.5 % 2 == 0.5", "7.5 % -2 == -0.5",
                   "1 // 0.1 == 9", "1 + 0.5 == 1.5", "ratio * 2 == 5", "3 - ratio == 0.5", "1e308 * 10 > 1e308"});
}

TEST(Expression, ListsHaveLiteralsOfOneType) {
  ExpectAll(true, {"width in (1, 640)", "width in (640)", "width in (640,)", "width not in (1, 2)",
                   "lang in ('en', 'de')", "lang not in ('en')", "ratio in (2.5, 1e9)", "ratio not in (2, 3)",
                   "height in (-7, -8)", "width in (640.0, 1.5)", "9007199254740993 not in (9007199254740992.0)",
                   "not width in (1, 2)", "width + 1 in (641)", "width in (9, 640, 3, 640, 1)"});
  ExpectAll(false, {"width in (1, 2)", "width not in (640, 1)", "lang in ('d', 'dee')"});
}

TEST(Expression, FunctionsOfFeaturesCountValues) {
  ExpectAll(true, {"len(tokens) == 3", "len(captions) == 3", "bytes(captions) == 5", "len(gone) == 0",
                   "bytes(gone_text) == 0", "has(tokens)", "has(width)", "not has(gone)", "not has(empty)",
                   "len(empty) == 0", "len(col('image/height')) == 1", "len(tokens) * 2 <= 6", "has(nan)"});
}

TEST(Expression, FunctionsOfStrings) {
  ExpectAll(true, {"startswith(lang, 'd')", "startswith(lang, '')", "startswith(lang, 'de')", "matches(lang, 'e')",
                   "matches(lang, '^d.$')", "matches('a\\nb', 'a.b') or matches('a\\nb', 'a\\\\sb')",
                   "matches('zürich', '^.[äü]r')", "matches('x\\xffy', 'y$')", "matches(lang, '(?i)DE')",
                   "hash(lang) >= 0", "hash(width) == hash(640)", "hash(width) != hash(640.0)",
                   "hash(0.0) == hash(-0.0)", "hash(lang) == hash('de')", "hash(width + 0) % 2 in (0, 1)"});
  ExpectAll(false, {"startswith(lang, 'dee')", "startswith(lang, 'e')", "matches(lang, '^e')",
                    "matches('a\\nb', 'a.b')", "matches('\\xff', '.')"});
}

TEST(Expression, AComparisonWithAMissingValueOrNaNIsFalse) {
  for (const char* op : {"==", "!=", "<", "<=", ">", ">="}) {
    ExpectAll(
        false,
        {absl::StrCat("gone ", op, " 1"), absl::StrCat("1 ", op, " gone"), absl::StrCat("nan ", op, " 1"),
         absl::StrCat("nan ", op, " nan"), absl::StrCat("1 ", op, " nan"), absl::StrCat("gone_text ", op, " 'a'"),
         absl::StrCat("gone_real ", op, " 1"), absl::StrCat("gone + 1 ", op, " 1"), absl::StrCat("-gone ", op, " 1"),
         absl::StrCat("empty ", op, " 1"), absl::StrCat("nan * 0 ", op, " 0"), absl::StrCat("hash(gone) ", op, " 0")});
  }
  ExpectAll(false, {"gone in (1, 2)", "gone not in (1, 2)", "nan in (1.5)", "nan not in (1.5)", "gone_text in ('a')",
                    "startswith(gone_text, '')", "matches(gone_text, '')"});
  ExpectAll(true, {"not gone == 1", "not gone != 1", "not nan == nan", "not gone in (1)",
                   "not startswith(gone_text, '')", "gone == 1 or width == 640"});
  // Missing operands precede errors of the operation.
  ExpectAll(false, {"gone // 0 == 0", "1 % gone == 0", "gone_real / 0 == 0"});
}

TEST(Expression, OverflowAndDivisionByZeroMakeTheRecordBad) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"most + 1 > 0", "overflow of INT64: 9223372036854775807 + 1, in `most + 1`"},
      {"least - 1 > 0", "overflow of INT64: -9223372036854775808 - 1, in `least - 1`"},
      {"most * 2 > 0", "overflow of INT64: 9223372036854775807 * 2, in `most * 2`"},
      {"-least > 0", "overflow of INT64: 0 - -9223372036854775808, in `-least`"},
      {"least // -1 > 0", "overflow of INT64: -9223372036854775808 // -1, in `least // -1`"},
      {"width / 0 > 0", "division by 0: 640 / 0, in `width / 0`"},
      {"width // (height + 7) > 0", "division by 0: 640 // 0, in `width // (height + 7)`"},
      {"width % 0.0 > 0", "division by 0: 640 % 0, in `width % 0.0`"},
      {"not ratio / (width - 640) > 0", "division by 0: 2.5 / 0, in `ratio / (width - 640)`"},
  };
  for (const auto& [text, message] : cases) {
    const absl::StatusOr<bool> result = Evaluated(text);
    EXPECT_TRUE(absl::IsInvalidArgument(result.status())) << text << ": " << result.status();
    EXPECT_EQ(result.status().message(), message);
    EXPECT_EQ(FaultOf(result.status()), Fault::kOther);
  }
}

TEST(Expression, SeveralValuesAreNoSingleValue) {
  for (const char* text : {"tokens == 1", "tokens + 1 > 0", "hash(tokens) > 0", "tokens in (1)"}) {
    const absl::StatusOr<bool> result = Evaluated(text);
    EXPECT_TRUE(absl::IsInvalidArgument(result.status())) << text;
    EXPECT_EQ(result.status().message(),
              "the feature 'tokens' has 3 values in `tokens`; only a feature with one value can be used as a value "
              "(len(x) is the number of values)");
    EXPECT_EQ(FaultOf(result.status()), Fault::kWrongShape);
  }
}

TEST(Expression, TheLeftSideDecidesWithoutTheRightSide) {
  ExpectAll(true, {"width == 640 or 1 // 0 == 1", "has(width) or tokens == 1"});
  ExpectAll(false, {"width == 1 and 1 // 0 == 1", "not has(tokens) and tokens == 1", "gone == 1 and 1 / 0 > 1"});
  EXPECT_FALSE(Evaluated("1 // 0 == 1 or width == 640").ok());
  EXPECT_FALSE(Evaluated("width == 640 and 1 // 0 == 1").ok());
}

TEST(Expression, ListsItsOperandsOnce) {
  const auto expression = Expression::Parse(
      "width > 1 and len(tokens) > width and has(lang) and bytes(lang) > 2 and ratio < 1 and lang != 'x'", Columns());
  ASSERT_TRUE(expression.ok()) << expression.status();
  using Fact = Operand::Fact;
  EXPECT_THAT(expression->operands(),
              ElementsAre(Operand{"width", Fact::kValue, Type::kInt64}, Operand{"tokens", Fact::kLen, Type::kInt64},
                          Operand{"lang", Fact::kHas, Type::kBool}, Operand{"lang", Fact::kBytes, Type::kInt64},
                          Operand{"ratio", Fact::kValue, Type::kDouble}, Operand{"lang", Fact::kValue, Type::kString}));
}

TEST(Expression, ACopyOutlivesItsOriginal) {
  absl::StatusOr<Expression> original =
      Expression::Parse("lang in ('de', 'a longer text that is on the heap')", Columns());
  ASSERT_TRUE(original.ok());
  const Expression copy = *original;
  original = absl::CancelledError("");
  EXPECT_TRUE(*Matches(copy, Record()));
}

TEST(Expression, ATextMayHaveSeveralLines) { ExpectAll(true, {"width == 640\n\tand\r\n  lang == 'de'\n"}); }

}  // namespace
}  // namespace penstock::select
