#include "pipeline/select/evaluator.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/fault.h"
#include "base/status_macros.h"
#include "pipeline/select/arithmetic.h"
#include "pipeline/select/error_text.h"
#include "pipeline/select/value_hash.h"

namespace penstock::select {
namespace {

Value LiteralOf(const Node& node) {
  switch (node.type) {
    case Type::kInt64:
      return Value::Int64(node.integer);
    case Type::kDouble:
      return Value::Double(node.real);
    default:
      return Value::String(node.text);
  }
}

class Evaluation {
 public:
  Evaluation(std::string_view text, const std::vector<Operand>& operands, std::span<const Value> values)
      : text_(text), operands_(operands), values_(values) {}

  // Recurses at most as deep as the parser.
  absl::StatusOr<Value> Of(const Node& node) const {
    switch (node.kind) {
      case NodeKind::kLiteral:
        return LiteralOf(node);
      case NodeKind::kFeature:
        return FeatureOf(node);
      case NodeKind::kCall:
        return CallOf(node);
      case NodeKind::kOr:
      case NodeKind::kAnd: {
        const bool deciding = node.kind == NodeKind::kOr;
        for (const Node& child : node.children) {
          PS_ASSIGN_OR_RETURN(const Value value, Of(child));
          if (value.boolean == deciding) return value;
        }
        return Value::Bool(!deciding);
      }
      case NodeKind::kNot: {
        PS_ASSIGN_OR_RETURN(const Value value, Of(node.children[0]));
        return Value::Bool(!value.boolean);
      }
      case NodeKind::kCompare: {
        PS_ASSIGN_OR_RETURN(const Value left, Of(node.children[0]));
        PS_ASSIGN_OR_RETURN(const Value right, Of(node.children[1]));
        if (IsMissing(left) || IsMissing(right)) return Value::Bool(false);
        return Value::Bool(Satisfies(Compare(left, right), node.operators[0]));
      }
      case NodeKind::kIn: {
        PS_ASSIGN_OR_RETURN(const Value value, Of(node.children[0]));
        // NaN is unordered, also with itself.
        if (IsMissing(value) || Compare(value, value) != 0) return Value::Bool(false);
        const auto at = std::lower_bound(node.sorted.begin(), node.sorted.end(), value,
                                         [](const Value& a, const Value& b) { return Compare(a, b) < 0; });
        return Value::Bool((at != node.sorted.end() && Compare(*at, value) == 0) != node.negated);
      }
      case NodeKind::kArithmetic: {
        PS_ASSIGN_OR_RETURN(Value value, Of(node.children[0]));
        for (size_t i = 1; i < node.children.size(); ++i) {
          PS_ASSIGN_OR_RETURN(const Value next, Of(node.children[i]));
          absl::StatusOr<Value> result = Calculate(value, node.operators[i - 1], next);
          if (!result.ok()) return InOperation(result.status(), node);
          value = *result;
        }
        return value;
      }
      case NodeKind::kNegate: {
        PS_ASSIGN_OR_RETURN(const Value value, Of(node.children[0]));
        absl::StatusOr<Value> result = Negate(value);
        if (!result.ok()) return InOperation(result.status(), node);
        return result;
      }
    }
    PS_CHECK(false);
  }

 private:
  static bool IsMissing(const Value& value) { return value.state == Value::State::kMissing; }

  const Value& OperandOf(const Node& node) const {
    const Value& value = values_[node.operand];
    PS_CHECK(value.state != Value::State::kPresent || value.type == operands_[node.operand].type);
    return value;
  }

  absl::StatusOr<Value> FeatureOf(const Node& node) const {
    const Value& value = OperandOf(node);
    if (value.state != Value::State::kSeveral) return value;
    return WithFault(Fault::kWrongShape,
                     absl::InvalidArgumentError(
                         absl::StrCat("the feature ", QuotedName(node.text), " has ", value.integer, " values in ",
                                      Quoted(text_.substr(node.begin, node.end - node.begin)),
                                      "; only a feature with one value can be used as a value (len(x) is the number of "
                                      "values)")));
  }

  absl::StatusOr<Value> CallOf(const Node& node) const {
    if (node.function == Function::kLen || node.function == Function::kBytes || node.function == Function::kHas) {
      const Value& value = OperandOf(node);
      PS_CHECK(value.state == Value::State::kPresent);
      return value;
    }
    PS_ASSIGN_OR_RETURN(const Value value, Of(node.children[0]));
    if (node.function == Function::kHash) return IsMissing(value) ? value : Value::Int64(HashValue(value));
    if (IsMissing(value)) return Value::Bool(false);
    if (node.function == Function::kMatches) return Value::Bool(node.pattern->IsFoundIn(value.text));
    return Value::Bool(value.text.starts_with(node.children[1].text));
  }

  absl::Status InOperation(const absl::Status& status, const Node& node) const {
    return WithFault(Fault::kOther,
                     absl::InvalidArgumentError(absl::StrCat(std::string(status.message()), ", in ",
                                                             Quoted(text_.substr(node.begin, node.end - node.begin)))));
  }

  const std::string_view text_;
  const std::vector<Operand>& operands_;
  const std::span<const Value> values_;
};

}  // namespace

absl::StatusOr<Value> Evaluate(const Node& root, std::string_view text, const std::vector<Operand>& operands,
                               std::span<const Value> values) {
  return Evaluation(text, operands, values).Of(root);
}

}  // namespace penstock::select
