// Any text as an expression, evaluated with any values: rejected with a caret inside the text, or true or false, twice
// the same. A copy of the expression gives the same result.
//
// The input: the text, the byte 0x1e, then values. A value is a byte for its kind and the bytes that the kind needs.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/check.h"
#include "pipeline/select/expression.h"
#include "pipeline/select/value.h"

namespace {

using penstock::select::ColumnType;
using penstock::select::Expression;
using penstock::select::Operand;
using penstock::select::Type;
using penstock::select::Value;

// Takes values from the end of the input. Without more bytes, all are 0.
class Values {
 public:
  explicit Values(std::string_view bytes) : bytes_(bytes) {}

  Value Next(const Operand& operand) {
    const uint64_t kind = Take(1);
    if (operand.fact == Operand::Fact::kHas) return Value::Bool(kind % 2 == 1);
    if (operand.fact != Operand::Fact::kValue) return Value::Int64(static_cast<int64_t>(Take(8) >> 1));
    if (kind == 1) return Value::Missing();
    if (kind == 2) return Value::Several(static_cast<int64_t>(Take(8) >> 1));
    if (operand.type == Type::kInt64) return Value::Int64(static_cast<int64_t>(Take(8)));
    if (operand.type == Type::kDouble) return Value::Double(std::bit_cast<double>(Take(8)));
    const size_t size = std::min<size_t>(Take(1), bytes_.size());
    const std::string_view text = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return Value::String(text);
  }

 private:
  uint64_t Take(size_t size) {
    uint64_t word = 0;
    size = std::min(size, bytes_.size());
    std::memcpy(&word, bytes_.data(), size);
    bytes_.remove_prefix(size);
    return word;
  }

  std::string_view bytes_;
};

void CheckMessage(const absl::Status& status) {
  PS_CHECK(absl::IsInvalidArgument(status));
  const std::string message(status.message());
  const size_t caret = message.rfind('\n');
  if (caret == std::string::npos) return;  // the text is too long
  const size_t line = message.rfind('\n', caret - 1);
  PS_CHECK(line != std::string::npos && message.back() == '^');
  PS_CHECK(message.find_first_not_of(' ', caret + 1) == message.size() - 1);
  PS_CHECK(message.size() - caret <= caret - line + 1);  // at most one column after the line
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto* const columns = new std::map<std::string, ColumnType>{{"i", ColumnType::kInt64},
                                                                           {"j", ColumnType::kInt64},
                                                                           {"f", ColumnType::kFloat},
                                                                           {"s", ColumnType::kBytes},
                                                                           {"a/b", ColumnType::kBytes}};
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t separator = input.rfind('\x1e');
  const std::string text(input.substr(0, separator));  // a copy, so that a sanitizer detects reads after its end
  const absl::StatusOr<Expression> parsed = Expression::Parse(text, *columns);
  if (!parsed.ok()) {
    CheckMessage(parsed.status());
    return 0;
  }
  Values from(separator == std::string_view::npos ? "" : input.substr(separator + 1));
  std::vector<Value> values;
  for (const Operand& operand : parsed->operands()) values.push_back(from.Next(operand));
  const Expression copy = *parsed;
  const absl::StatusOr<bool> first = parsed->Matches(values), second = copy.Matches(values);
  PS_CHECK(first.ok() == second.ok());
  if (first.ok()) PS_CHECK(*first == *second);
  PS_CHECK(first.ok() || absl::IsInvalidArgument(first.status()));
  return 0;
}
