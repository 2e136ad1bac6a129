#include "pipeline/select/arithmetic.h"

#include <cmath>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace penstock::select {
namespace {

constexpr double kTwoTo63 = 9223372036854775808.0;

std::partial_ordering CompareExact(int64_t integer, double real) {
  if (std::isnan(real)) return std::partial_ordering::unordered;
  if (real >= kTwoTo63) return std::partial_ordering::less;
  if (real < -kTwoTo63) return std::partial_ordering::greater;
  const double whole = std::trunc(real);
  const auto truncated = static_cast<int64_t>(whole);
  if (integer != truncated) return integer <=> truncated;
  return whole <=> real;
}

double AsDouble(const Value& value) {
  return value.type == Type::kInt64 ? static_cast<double>(value.integer) : value.real;
}

std::string NumberText(const Value& value) {
  return value.type == Type::kInt64 ? absl::StrCat(value.integer) : absl::StrCat(value.real);
}

absl::Status Overflow(const Value& a, Operator op, const Value& b) {
  return absl::InvalidArgumentError(
      absl::StrCat("overflow of INT64: ", NumberText(a), " ", OperatorText(op), " ", NumberText(b)));
}

absl::StatusOr<Value> CalculateInt64(const Value& a, Operator op, const Value& b) {
  int64_t result = 0;
  switch (op) {
    case Operator::kAdd:
      if (__builtin_add_overflow(a.integer, b.integer, &result)) return Overflow(a, op, b);
      break;
    case Operator::kSubtract:
      if (__builtin_sub_overflow(a.integer, b.integer, &result)) return Overflow(a, op, b);
      break;
    case Operator::kMultiply:
      if (__builtin_mul_overflow(a.integer, b.integer, &result)) return Overflow(a, op, b);
      break;
    default: {
      // The quotient of the smallest INT64 and -1 overflows.
      if (b.integer == -1) {
        if (op == Operator::kModulo) return Value::Int64(0);
        if (__builtin_sub_overflow(int64_t{0}, a.integer, &result)) return Overflow(a, op, b);
        break;
      }
      const int64_t quotient = a.integer / b.integer, rest = a.integer % b.integer;
      const bool round_down = rest != 0 && (rest < 0) != (b.integer < 0);
      if (op == Operator::kModulo) {
        result = round_down ? rest + b.integer : rest;
      } else {
        result = round_down ? quotient - 1 : quotient;
      }
    }
  }
  return Value::Int64(result);
}

// The algorithm of CPython's float_divmod(), whose results pandas and NumPy have too.
double ModuloOf(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (b < 0) != (rest < 0) ? rest + b : rest;
}

double FloorQuotientOf(double a, double b) {
  const double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floored = std::floor(quotient);
  return quotient - floored > 0.5 ? floored + 1 : floored;
}

}  // namespace

std::string_view TypeName(Type type) {
  switch (type) {
    case Type::kInt64:
      return "INT64";
    case Type::kDouble:
      return "DOUBLE";
    case Type::kString:
      return "STRING";
    case Type::kBool:
      return "BOOL";
  }
  return "";
}

std::partial_ordering Compare(const Value& a, const Value& b) {
  if (a.type == Type::kString) {
    PS_CHECK(b.type == Type::kString);
    return a.text.compare(b.text) <=> 0;
  }
  PS_CHECK(b.type != Type::kString);
  if (a.type == Type::kInt64 && b.type == Type::kInt64) return a.integer <=> b.integer;
  if (a.type == Type::kInt64) return CompareExact(a.integer, b.real);
  if (b.type == Type::kInt64) return 0 <=> CompareExact(b.integer, a.real);
  return a.real <=> b.real;
}

bool Satisfies(std::partial_ordering ordering, Operator op) {
  switch (op) {
    case Operator::kEqual:
      return ordering == 0;
    case Operator::kNotEqual:
      return ordering < 0 || ordering > 0;
    case Operator::kLess:
      return ordering < 0;
    case Operator::kLessOrEqual:
      return ordering <= 0;
    case Operator::kGreater:
      return ordering > 0;
    case Operator::kGreaterOrEqual:
      return ordering >= 0;
    default:
      break;
  }
  PS_CHECK(false);
}

absl::StatusOr<Value> Calculate(const Value& a, Operator op, const Value& b) {
  if (a.state == Value::State::kMissing || b.state == Value::State::kMissing) return Value::Missing();
  const bool divides = op == Operator::kDivide || op == Operator::kFloorDivide || op == Operator::kModulo;
  if (divides && AsDouble(b) == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("division by 0: ", NumberText(a), " ", OperatorText(op), " ", NumberText(b)));
  }
  if (a.type == Type::kInt64 && b.type == Type::kInt64 && op != Operator::kDivide) return CalculateInt64(a, op, b);
  const double x = AsDouble(a), y = AsDouble(b);
  switch (op) {
    case Operator::kAdd:
      return Value::Double(x + y);
    case Operator::kSubtract:
      return Value::Double(x - y);
    case Operator::kMultiply:
      return Value::Double(x * y);
    case Operator::kDivide:
      return Value::Double(x / y);
    case Operator::kFloorDivide:
      return Value::Double(FloorQuotientOf(x, y));
    case Operator::kModulo:
      return Value::Double(ModuloOf(x, y));
    default:
      break;
  }
  PS_CHECK(false);
}

absl::StatusOr<Value> Negate(const Value& a) {
  if (a.state == Value::State::kMissing) return Value::Missing();
  if (a.type == Type::kDouble) return Value::Double(-a.real);
  return Calculate(Value::Int64(0), Operator::kSubtract, a);
}

}  // namespace penstock::select
