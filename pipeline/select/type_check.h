// Checks the types of an expression, and finds its operands. Internal to select/.
#ifndef PENSTOCK_PIPELINE_SELECT_TYPE_CHECK_H_
#define PENSTOCK_PIPELINE_SELECT_TYPE_CHECK_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/select/expression.h"
#include "pipeline/select/node.h"

namespace penstock::select {

// Sets types, functions, operands, sorted lists and patterns in the tree that ParseTree(text) returned. Returns the
// operands. Returns InvalidArgument (ErrorAt) for unknown names, wrong types and an expression of another kind. Lists
// in the tree point into its nodes, so afterwards the tree may be moved but not copied.
absl::StatusOr<std::vector<Operand>> CheckTypes(std::string_view text, const std::map<std::string, ColumnType>& columns,
                                                Kind kind, Node* root);

}  // namespace penstock::select

#endif  // PENSTOCK_PIPELINE_SELECT_TYPE_CHECK_H_
