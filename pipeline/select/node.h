// The syntax tree of an expression. Internal to select/.
#ifndef PENSTOCK_PIPELINE_SELECT_NODE_H_
#define PENSTOCK_PIPELINE_SELECT_NODE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/select/pattern.h"
#include "pipeline/select/value.h"

namespace penstock::select {

enum class NodeKind : uint8_t {
  kLiteral,     // `type` and one of `integer`, `real` and `text`
  kFeature,     // `text` is the name of a feature
  kCall,        // `text` is the name of a function, and the children are its arguments
  kOr,          // at least two children
  kAnd,         // at least two children
  kNot,         // one child
  kCompare,     // two children and one operator
  kIn,          // the value, then the literals; `negated` for `not in`
  kArithmetic,  // operands from left to right, with an operator between any two
  kNegate,      // one child
};

enum class Operator : uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
};

// Returns the operator as it is written, such as "<=".
const char* OperatorText(Operator op);

enum class Function : uint8_t { kLen, kBytes, kHas, kHash, kStartsWith, kMatches };

struct Node {
  NodeKind kind = NodeKind::kLiteral;
  // The bytes of the text from which the node was parsed: [begin, end). `at` is the place for a caret.
  size_t begin = 0, end = 0, at = 0;
  std::vector<Node> children;
  std::vector<Operator> operators;
  std::string text;
  int64_t integer = 0;
  double real = 0;
  bool negated = false;
  // The parser sets the type of a literal, and the type check sets the rest.
  Type type = Type::kInt64;
  Function function = Function::kLen;
  size_t operand = 0;                      // kFeature, and kCall of len, bytes and has: index in the operands
  std::vector<Value> sorted;               // kIn: the literals in ascending order, which point into the children
  std::shared_ptr<const Pattern> pattern;  // kCall of matches
};

}  // namespace penstock::select

#endif  // PENSTOCK_PIPELINE_SELECT_NODE_H_
