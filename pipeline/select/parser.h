// Parses the text of an expression by recursive descent. Internal to select/.
#ifndef PENSTOCK_PIPELINE_SELECT_PARSER_H_
#define PENSTOCK_PIPELINE_SELECT_PARSER_H_

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"
#include "pipeline/select/node.h"

namespace penstock::select {

// Limits of a text, so that parsing and evaluating any text takes bounded time, memory and stack.
constexpr size_t kMaxTextBytes = 64 << 10;
constexpr size_t kMaxNodes = 16 << 10;
constexpr int kMaxDepth = 64;  // parentheses, calls, `not` and minus signs around each other

// Returns the tree of the expression, without types of names and functions. Returns InvalidArgument (ErrorAt) for a
// text that has another grammar or exceeds a limit.
absl::StatusOr<Node> ParseTree(std::string_view text);

}  // namespace penstock::select

#endif  // PENSTOCK_PIPELINE_SELECT_PARSER_H_
