// Columns and records for tests of expressions.
#ifndef PENSTOCK_TESTS_PIPELINE_SELECT_SELECT_TESTING_H_
#define PENSTOCK_TESTS_PIPELINE_SELECT_SELECT_TESTING_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/select/expression.h"
#include "pipeline/select/value.h"

namespace penstock::select {

// The values of a feature in a record.
using FeatureValues = std::variant<std::vector<int64_t>, std::vector<double>, std::vector<std::string>>;
using TestRecord = std::map<std::string, FeatureValues>;

// Returns the value of the operand in the record. The value points into the record.
inline Value ValueOf(const Operand& operand, const TestRecord& record) {
  const auto found = record.find(operand.feature);
  int64_t count = 0, bytes = 0;
  Value single = Value::Missing();
  if (found != record.end()) {
    if (const auto* ints = std::get_if<std::vector<int64_t>>(&found->second)) {
      count = static_cast<int64_t>(ints->size());
      if (count == 1) single = Value::Int64((*ints)[0]);
    } else if (const auto* reals = std::get_if<std::vector<double>>(&found->second)) {
      count = static_cast<int64_t>(reals->size());
      if (count == 1) single = Value::Double((*reals)[0]);
    } else {
      const auto& texts = std::get<std::vector<std::string>>(found->second);
      count = static_cast<int64_t>(texts.size());
      for (const std::string& text : texts) bytes += static_cast<int64_t>(text.size());
      if (count == 1) single = Value::String(texts[0]);
    }
  }
  switch (operand.fact) {
    case Operand::Fact::kValue:
      return count > 1 ? Value::Several(count) : single;
    case Operand::Fact::kLen:
      return Value::Int64(count);
    case Operand::Fact::kBytes:
      return Value::Int64(bytes);
    case Operand::Fact::kHas:
      return Value::Bool(count > 0);
  }
  return Value::Missing();
}

inline absl::StatusOr<bool> Matches(const Expression& expression, const TestRecord& record) {
  std::vector<Value> values;
  for (const Operand& operand : expression.operands()) values.push_back(ValueOf(operand, record));
  return expression.Matches(values);
}

}  // namespace penstock::select

#endif  // PENSTOCK_TESTS_PIPELINE_SELECT_SELECT_TESTING_H_
