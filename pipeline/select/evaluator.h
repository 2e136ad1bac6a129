// Evaluates the tree of an expression for one record. Internal to select/.
#ifndef PENSTOCK_PIPELINE_SELECT_EVALUATOR_H_
#define PENSTOCK_PIPELINE_SELECT_EVALUATOR_H_

#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/select/expression.h"
#include "pipeline/select/node.h"

namespace penstock::select {

// As Expression::Evaluate(). `root` is a tree that CheckTypes(text) has checked and `operands` is its result.
absl::StatusOr<Value> Evaluate(const Node& root, std::string_view text, const std::vector<Operand>& operands,
                               std::span<const Value> values);

}  // namespace penstock::select

#endif  // PENSTOCK_PIPELINE_SELECT_EVALUATOR_H_
