// Random expressions have the values that a plain evaluator of this file computes.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "pipeline/select/expression.h"
#include "tests/pipeline/select/select_testing.h"

namespace penstock::select {
namespace {

struct Bad {};            // overflow, division by 0, several values
struct Gone {};           // missing
using Number = __int128;  // integers without overflow
using PlainValue = std::variant<Bad, Gone, bool, Number, double, std::string>;

// A generated expression. Its evaluator shares no code with the product.
struct Plain {
  std::string text;  // with parentheses around each part
  std::function<PlainValue(const TestRecord&)> evaluate;
};

const char* const kIntegers[] = {"i", "j"};
const char* const kReals[] = {"f", "g"};
const char* const kTexts[] = {"s", "t/u"};

bool IsBad(const PlainValue& value) { return std::holds_alternative<Bad>(value); }
bool IsGone(const PlainValue& value) { return std::holds_alternative<Gone>(value); }
double RealOf(const PlainValue& value) {
  if (const auto* number = std::get_if<Number>(&value)) return static_cast<double>(static_cast<int64_t>(*number));
  return std::get<double>(value);
}

PlainValue InRange(Number number) {
  if (number < std::numeric_limits<int64_t>::min() || number > std::numeric_limits<int64_t>::max()) return Bad();
  return number;
}

PlainValue PlainArithmetic(const PlainValue& a, const std::string& op, const PlainValue& b) {
  if (IsBad(a) || IsBad(b)) return Bad();
  if (IsGone(a) || IsGone(b)) return Gone();
  if (op != "+" && op != "-" && op != "*" && RealOf(b) == 0) return Bad();
  if (std::holds_alternative<Number>(a) && std::holds_alternative<Number>(b) && op != "/") {
    const Number x = std::get<Number>(a), y = std::get<Number>(b);
    if (op == "+") return InRange(x + y);
    if (op == "-") return InRange(x - y);
    if (op == "*") return InRange(x * y);
    Number quotient = x / y;
    while (quotient * y > x && y > 0) --quotient;
    while (quotient * y < x && y < 0) --quotient;
    return InRange(op == "//" ? quotient : x - quotient * y);
  }
  const double x = RealOf(a), y = RealOf(b);
  if (op == "+") return x + y;
  if (op == "-") return x - y;
  if (op == "*") return x * y;
  if (op == "/") return x / y;
  // The values of this test are small multiples of 1/4, so that these results are exact.
  const double floor = std::floor(x / y);
  return op == "//" ? floor : x - floor * y;
}

bool PlainCompare(const PlainValue& a, const std::string& op, const PlainValue& b) {
  if (IsGone(a) || IsGone(b)) return false;
  int order = 0;
  if (std::holds_alternative<std::string>(a)) {
    const auto &x = std::get<std::string>(a), &y = std::get<std::string>(b);
    order = x < y ? -1 : x > y ? 1 : 0;
  } else {
    const auto exact = [](const PlainValue& value) -> long double {  // 64 bits of precision: exact for both types
      if (const auto* number = std::get_if<Number>(&value))
        return static_cast<long double>(static_cast<int64_t>(*number));
      return static_cast<long double>(std::get<double>(value));
    };
    static_assert(std::numeric_limits<long double>::digits >= 64);
    const long double x = exact(a), y = exact(b);
    if (std::isnan(x) || std::isnan(y)) return false;
    order = x < y ? -1 : x > y ? 1 : 0;
  }
  if (op == "==") return order == 0;
  if (op == "!=") return order != 0;
  if (op == "<") return order < 0;
  if (op == "<=") return order <= 0;
  if (op == ">") return order > 0;
  return order >= 0;
}

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  uint64_t Pick(uint64_t n) { return std::uniform_int_distribution<uint64_t>(0, n - 1)(random_); }
  template <typename T, size_t N>
  const T& OneOf(const T (&items)[N]) {
    return items[Pick(N)];
  }

  int64_t Integer() {
    constexpr int64_t kOdd[] = {0,
                                1,
                                -1,
                                3,
                                std::numeric_limits<int64_t>::max(),
                                std::numeric_limits<int64_t>::min(),
                                int64_t{1} << 53,
                                (int64_t{1} << 53) + 1};
    return Pick(3) == 0 ? OneOf(kOdd) : static_cast<int64_t>(Pick(20)) - 10;
  }
  double Real() {
    constexpr double kOdd[] = {0, -0.0, 9007199254740992.0, 9223372036854775808.0};
    return Pick(5) == 0 ? OneOf(kOdd) : static_cast<double>(Pick(80)) / 4 - 10;
  }
  std::string Text() {
    std::string text;
    for (uint64_t n = Pick(4); n > 0; --n) text += "ab\xff'\\\n\""[Pick(7)];
    return text;
  }

  // Generates a condition of at most `depth` levels.
  Plain Condition(int depth) {
    const uint64_t choice = depth == 0 ? 3 + Pick(4) : Pick(8);
    if (choice < 2) {
      const bool disjunction = choice == 0;
      std::vector<Plain> parts;
      for (uint64_t n = 2 + Pick(3); n > 0; --n) parts.push_back(Condition(depth - 1));
      std::string text;
      for (const Plain& part : parts)
        absl::StrAppend(&text, text.empty() ? "" : disjunction ? " or " : " and ", part.text);
      return {absl::StrCat("(", text, ")"), [=](const TestRecord& record) -> PlainValue {
                for (const Plain& part : parts) {
                  const PlainValue value = part.evaluate(record);
                  if (IsBad(value) || std::get<bool>(value) == disjunction) return value;
                }
                return !disjunction;
              }};
    }
    if (choice == 2) {
      const Plain part = Condition(depth - 1);
      return {absl::StrCat("not ", part.text), [=](const TestRecord& record) -> PlainValue {
                const PlainValue value = part.evaluate(record);
                if (IsBad(value)) return value;
                return !std::get<bool>(value);
              }};
    }
    if (choice == 3) return In();
    if (choice == 4) {
      const std::string feature = Feature();
      return {absl::StrCat("has(", Name(feature), ")"),
              [=](const TestRecord& record) -> PlainValue { return CountOf(record, feature) > 0; }};
    }
    if (choice == 5) {
      const std::string feature = OneOf(kTexts), prefix = Text();
      return {absl::StrCat("startswith(", Name(feature), ", ", Quote(prefix), ")"),
              [=](const TestRecord& record) -> PlainValue {
                const PlainValue value = ValueIn(record, feature);
                if (IsBad(value)) return value;
                return !IsGone(value) && std::get<std::string>(value).compare(0, prefix.size(), prefix) == 0;
              }};
    }
    constexpr const char* kComparisons[] = {"==", "!=", "<", "<=", ">", ">="};
    const std::string op = OneOf(kComparisons);
    const bool texts = Pick(3) == 0;
    const Plain a = texts ? TextValue() : NumberValue(depth), b = texts ? TextValue() : NumberValue(depth);
    return {absl::StrCat("(", a.text, " ", op, " ", b.text, ")"), [=](const TestRecord& record) -> PlainValue {
              const PlainValue x = a.evaluate(record);
              if (IsBad(x)) return x;
              const PlainValue y = b.evaluate(record);
              if (IsBad(y)) return y;
              return PlainCompare(x, op, y);
            }};
  }

  TestRecord Record() {
    TestRecord record;
    const auto count = [this] { return Pick(8) == 0 ? Pick(3) : 1; };
    for (const char* name : kIntegers) {
      std::vector<int64_t> values;
      for (uint64_t n = count(); n > 0; --n) values.push_back(Integer());
      if (Pick(8) != 0) record[name] = values;
    }
    for (const char* name : kReals) {
      std::vector<double> values;
      for (uint64_t n = count(); n > 0; --n) {
        values.push_back(Pick(10) == 0 ? std::numeric_limits<double>::quiet_NaN() : Real());
      }
      if (Pick(8) != 0) record[name] = values;
    }
    for (const char* name : kTexts) {
      std::vector<std::string> values;
      for (uint64_t n = count(); n > 0; --n) values.push_back(Text());
      if (Pick(8) != 0) record[name] = values;
    }
    return record;
  }

 private:
  static std::string Name(const std::string& feature) {
    return feature.find('/') == std::string::npos ? feature : absl::StrCat("col('", feature, "')");
  }
  static std::string Quote(const std::string& text) {
    std::string out = "'";
    for (const char c : text) absl::StrAppendFormat(&out, "\\x%02x", static_cast<unsigned char>(c));
    return out + "'";
  }
  std::string Feature() { return Pick(3) == 0 ? OneOf(kIntegers) : Pick(2) == 0 ? OneOf(kReals) : OneOf(kTexts); }

  static size_t CountOf(const TestRecord& record, const std::string& feature) {
    const auto found = record.find(feature);
    if (found == record.end()) return 0;
    return std::visit([](const auto& values) { return values.size(); }, found->second);
  }
  static PlainValue ValueIn(const TestRecord& record, const std::string& feature) {
    const size_t count = CountOf(record, feature);
    if (count == 0) return Gone();
    if (count > 1) return Bad();
    const FeatureValues& values = record.at(feature);
    if (const auto* ints = std::get_if<std::vector<int64_t>>(&values)) return Number{(*ints)[0]};
    if (const auto* reals = std::get_if<std::vector<double>>(&values)) return (*reals)[0];
    return std::get<std::vector<std::string>>(values)[0];
  }
  static Plain FeatureValue(const std::string& feature) {
    return {Name(feature), [=](const TestRecord& record) { return ValueIn(record, feature); }};
  }

  Plain TextValue() {
    if (Pick(2) == 0) return FeatureValue(OneOf(kTexts));
    const std::string text = Text();
    return {Quote(text), [=](const TestRecord&) -> PlainValue { return text; }};
  }

  Plain NumberValue(int depth) {
    const uint64_t choice = depth == 0 ? Pick(4) : Pick(7);
    if (choice == 0) return FeatureValue(OneOf(kIntegers));
    if (choice == 1) return FeatureValue(OneOf(kReals));
    if (choice == 2) {
      const int64_t integer = Integer();
      return {absl::StrCat(integer), [=](const TestRecord&) -> PlainValue { return Number{integer}; }};
    }
    if (choice == 3) {
      const std::string feature = Feature();
      return {absl::StrCat("len(", Name(feature), ")"),
              [=](const TestRecord& record) -> PlainValue { return static_cast<Number>(CountOf(record, feature)); }};
    }
    if (choice == 4) {
      const Plain part = NumberValue(depth - 1);
      return {absl::StrCat("-(", part.text, ")"), [=](const TestRecord& record) -> PlainValue {
                const PlainValue value = part.evaluate(record);
                if (const auto* number = std::get_if<Number>(&value)) return InRange(-*number);
                if (const auto* real = std::get_if<double>(&value)) return -*real;
                return value;
              }};
    }
    constexpr const char* kOperators[] = {"+", "-", "*", "/", "//", "%"};
    const std::string op = OneOf(kOperators);
    // // and % of reals get small operands, whose results are exact.
    const bool floors = op == "//" || op == "%";
    const Plain a = floors ? SmallValue() : NumberValue(depth - 1), b = floors ? SmallValue() : NumberValue(depth - 1);
    return {absl::StrCat("(", a.text, " ", op, " ", b.text, ")"), [=](const TestRecord& record) -> PlainValue {
              const PlainValue x = a.evaluate(record);
              if (IsBad(x)) return x;
              return PlainArithmetic(x, op, b.evaluate(record));
            }};
  }
  // A literal, or an integer feature.
  Plain SmallValue() {
    if (Pick(2) == 0) {
      const int64_t integer = static_cast<int64_t>(Pick(20)) - 10;
      return {absl::StrCat(integer), [=](const TestRecord&) -> PlainValue { return Number{integer}; }};
    }
    const double real = static_cast<double>(Pick(16)) / 4 - 2;
    return {absl::StrFormat("%.2f", real), [=](const TestRecord&) -> PlainValue { return real; }};
  }

  Plain In() {
    const bool negated = Pick(2) == 0, texts = Pick(2) == 0;
    std::vector<PlainValue> literals;
    std::string list;
    for (uint64_t n = 1 + Pick(4); n > 0; --n) {
      if (texts) {
        literals.emplace_back(Text());
        absl::StrAppend(&list, Quote(std::get<std::string>(literals.back())), ", ");
      } else {
        const int64_t integer = Integer();
        literals.emplace_back(Number{integer});
        absl::StrAppend(&list, integer, ", ");
      }
    }
    const Plain value = texts ? TextValue() : NumberValue(0);
    return {absl::StrCat("(", value.text, negated ? " not in (" : " in (", list, "))"),
            [=](const TestRecord& record) -> PlainValue {
              const PlainValue x = value.evaluate(record);
              if (IsBad(x)) return x;
              if (IsGone(x) || !PlainCompare(x, "==", x)) return false;
              for (const PlainValue& literal : literals) {
                if (PlainCompare(x, "==", literal)) return !negated;
              }
              return negated;
            }};
  }

  std::mt19937_64 random_;
};

TEST(ExpressionProperty, RandomExpressionsHaveTheValuesOfAPlainEvaluator) {
  const std::map<std::string, ColumnType> columns = {{"i", ColumnType::kInt64}, {"j", ColumnType::kInt64},
                                                     {"f", ColumnType::kFloat}, {"g", ColumnType::kFloat},
                                                     {"s", ColumnType::kBytes}, {"t/u", ColumnType::kBytes}};
  size_t matches = 0, others = 0, bad = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    Generator generator(seed);
    const Plain plain = generator.Condition(3);
    const absl::StatusOr<Expression> expression = Expression::Parse(plain.text, columns);
    ASSERT_TRUE(expression.ok()) << seed << ": " << expression.status();
    for (int i = 0; i < 8; ++i) {
      const TestRecord record = generator.Record();
      const PlainValue expected = plain.evaluate(record);
      const absl::StatusOr<bool> result = Matches(*expression, record);
      ASSERT_EQ(result.ok(), !IsBad(expected)) << seed << ": " << plain.text << ": " << result.status();
      if (!result.ok()) {
        ++bad;
        continue;
      }
      ASSERT_EQ(*result, std::get<bool>(expected)) << seed << ": " << plain.text;
      ++(*result ? matches : others);
    }
  }
  // The test compares all three outcomes often.
  EXPECT_GT(matches, 4000);
  EXPECT_GT(others, 4000);
  EXPECT_GT(bad, 1000);
}

}  // namespace
}  // namespace penstock::select
