#include "pipeline/select/expression.h"

#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "pipeline/select/evaluator.h"
#include "pipeline/select/parser.h"
#include "pipeline/select/type_check.h"

namespace penstock::select {

Expression::Expression(std::string text, Node root, std::vector<Operand> operands)
    : text_(std::make_shared<const std::string>(std::move(text))),
      root_(std::make_shared<const Node>(std::move(root))),
      operands_(std::make_shared<const std::vector<Operand>>(std::move(operands))) {}

absl::StatusOr<Expression> Expression::Parse(std::string_view text, const std::map<std::string, ColumnType>& columns) {
  PS_ASSIGN_OR_RETURN(Node root, ParseTree(text));
  PS_ASSIGN_OR_RETURN(std::vector<Operand> operands, CheckTypes(text, columns, &root));
  return Expression(std::string(text), std::move(root), std::move(operands));
}

absl::StatusOr<bool> Expression::Matches(std::span<const Value> values) const {
  PS_CHECK(values.size() == operands_->size());
  return Evaluate(*root_, *text_, *operands_, values);
}

}  // namespace penstock::select
