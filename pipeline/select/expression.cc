#include "pipeline/select/expression.h"

#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "pipeline/select/evaluator.h"
#include "pipeline/select/parser.h"
#include "pipeline/select/type_check.h"

namespace penstock::select {

absl::Status CheckSyntax(std::string_view text) { return ParseTree(text).status(); }

Expression::Expression(std::string text, Node root, std::vector<Operand> operands)
    : text_(std::make_shared<const std::string>(std::move(text))),
      root_(std::make_shared<const Node>(std::move(root))),
      operands_(std::make_shared<const std::vector<Operand>>(std::move(operands))) {}

absl::StatusOr<Expression> Expression::ParseKind(std::string_view text,
                                                 const std::map<std::string, ColumnType>& columns, Kind kind) {
  PS_ASSIGN_OR_RETURN(Node root, ParseTree(text));
  PS_ASSIGN_OR_RETURN(std::vector<Operand> operands, CheckTypes(text, columns, kind, &root));
  return Expression(std::string(text), std::move(root), std::move(operands));
}

absl::StatusOr<Expression> Expression::Parse(std::string_view text, const std::map<std::string, ColumnType>& columns) {
  return ParseKind(text, columns, Kind::kCondition);
}

absl::StatusOr<Expression> Expression::ParseValue(std::string_view text,
                                                  const std::map<std::string, ColumnType>& columns) {
  return ParseKind(text, columns, Kind::kValue);
}

absl::StatusOr<Expression> Expression::ParseAny(std::string_view text,
                                                const std::map<std::string, ColumnType>& columns) {
  return ParseKind(text, columns, Kind::kAny);
}

Type Expression::type() const { return root_->type; }

absl::StatusOr<Value> Expression::Evaluate(std::span<const Value> values) const {
  PS_CHECK(values.size() == operands_->size());
  return select::Evaluate(*root_, *text_, *operands_, values);
}

absl::StatusOr<bool> Expression::Matches(std::span<const Value> values) const {
  PS_ASSIGN_OR_RETURN(const Value value, Evaluate(values));
  return value.boolean;
}

}  // namespace penstock::select
