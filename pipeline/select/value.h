// Types and values of expressions.
#ifndef PENSTOCK_PIPELINE_SELECT_VALUE_H_
#define PENSTOCK_PIPELINE_SELECT_VALUE_H_

#include <cstdint>
#include <string_view>

namespace penstock::select {

enum class Type : uint8_t { kInt64, kDouble, kString, kBool };

// Returns "INT64", "DOUBLE", "STRING" or "BOOL".
std::string_view TypeName(Type type);

// The value of an operand or of a part of an expression.
struct Value {
  enum class State : uint8_t {
    kPresent,
    kMissing,  // the record does not have the feature, or it has no value
    kSeveral,  // the feature has `integer` values, so it has no single value
  };

  State state = State::kMissing;
  Type type = Type::kInt64;  // kPresent only
  bool boolean = false;
  int64_t integer = 0;
  double real = 0;
  std::string_view text = {};  // must outlive the value

  static Value Missing() { return {}; }
  static Value Several(int64_t count) { return {.state = State::kSeveral, .integer = count}; }
  static Value Int64(int64_t value) { return {.state = State::kPresent, .type = Type::kInt64, .integer = value}; }
  static Value Double(double value) { return {.state = State::kPresent, .type = Type::kDouble, .real = value}; }
  static Value String(std::string_view value) {
    return {.state = State::kPresent, .type = Type::kString, .text = value};
  }
  static Value Bool(bool value) { return {.state = State::kPresent, .type = Type::kBool, .boolean = value}; }
};

}  // namespace penstock::select

#endif  // PENSTOCK_PIPELINE_SELECT_VALUE_H_
