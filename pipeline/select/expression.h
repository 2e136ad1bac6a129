// Conditions and values over the features of a record, such as `width >= 256 and lang in ('en', 'de')`. docs/select.md
// describes the language.
#ifndef PENSTOCK_PIPELINE_SELECT_EXPRESSION_H_
#define PENSTOCK_PIPELINE_SELECT_EXPRESSION_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/select/value.h"

namespace penstock::select {

// The type of a feature's values in the records.
enum class ColumnType : uint8_t { kInt64, kFloat, kBytes };

// A fact about a feature that an expression needs.
struct Operand {
  enum class Fact : uint8_t {
    kValue,  // INT64, DOUBLE (of a FLOAT feature) or STRING: the value; missing without a value; Value::Several()
    kLen,    // INT64: the number of values; 0 if the record does not have the feature
    kBytes,  // INT64: the sum of the lengths of the values; 0 if the record does not have the feature
    kHas,    // BOOL: whether the record has at least one value of the feature
  };

  std::string feature;
  Fact fact = Fact::kValue;
  Type type = Type::kInt64;

  bool operator==(const Operand&) const = default;
};

// What an expression has to be: a condition is BOOL, a value is INT64, DOUBLE or STRING.
enum class Kind : uint8_t { kCondition, kValue, kAny };

struct Node;

// Returns InvalidArgument, as Expression::Parse() does, for a text that is wrong whatever features the records have.
absl::Status CheckSyntax(std::string_view text);

// Immutable, thread-safe. Copies share one tree.
class Expression {
 public:
  // Parses a condition and checks its types. `columns` has the type of each feature. Returns InvalidArgument for a
  // wrong text; the message has the line with a caret under the place, and the nearest name for an unknown one. Takes
  // at most 64 KiB of text, 16,384 parts and 64 levels of nesting.
  static absl::StatusOr<Expression> Parse(std::string_view text, const std::map<std::string, ColumnType>& columns);
  // As Parse(), for an expression that is an INT64, a DOUBLE or a STRING.
  static absl::StatusOr<Expression> ParseValue(std::string_view text, const std::map<std::string, ColumnType>& columns);
  // As Parse(), for an expression of any type.
  static absl::StatusOr<Expression> ParseAny(std::string_view text, const std::map<std::string, ColumnType>& columns);

  const std::string& text() const { return *text_; }
  // Returns the type of the result.
  Type type() const;
  // Returns the operands, each once, in the order of the text.
  const std::vector<Operand>& operands() const { return *operands_; }

  // Returns the value for a record: present or missing, and always present for a condition. `values` has the value of
  // each operand, with the operand's type, and the texts of the result. Does not evaluate the right side of `and` and
  // `or` if the left side decides. Returns InvalidArgument if the record is bad:
  //   class kWrongShape  a feature with several values is used as a single value
  //   class kOther       an INT64 overflows, or a number is divided by 0
  absl::StatusOr<Value> Evaluate(std::span<const Value> values) const;
  // Returns whether a record satisfies the condition. Returns the errors of Evaluate().
  absl::StatusOr<bool> Matches(std::span<const Value> values) const;

 private:
  static absl::StatusOr<Expression> ParseKind(std::string_view text, const std::map<std::string, ColumnType>& columns,
                                              Kind kind);
  Expression(std::string text, Node root, std::vector<Operand> operands);

  std::shared_ptr<const std::string> text_;
  std::shared_ptr<const Node> root_;
  std::shared_ptr<const std::vector<Operand>> operands_;
};

}  // namespace penstock::select

#endif  // PENSTOCK_PIPELINE_SELECT_EXPRESSION_H_
