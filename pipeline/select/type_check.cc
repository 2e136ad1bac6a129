#include "pipeline/select/type_check.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/near_name.h"
#include "base/status_macros.h"
#include "pipeline/select/arithmetic.h"
#include "pipeline/select/error_text.h"
#include "pipeline/select/pattern.h"

namespace penstock::select {
namespace {

constexpr size_t kShownNames = 20;

struct FunctionSpec {
  const char* name;
  Function function;
  size_t arguments;
  const char* form;
};

constexpr FunctionSpec kFunctions[] = {
    {"len", Function::kLen, 1, "len(x)"},
    {"bytes", Function::kBytes, 1, "bytes(x)"},
    {"has", Function::kHas, 1, "has(x)"},
    {"hash", Function::kHash, 1, "hash(x)"},
    {"startswith", Function::kStartsWith, 2, "startswith(x, 'p')"},
    {"matches", Function::kMatches, 2, "matches(x, 'pattern')"},
};

Type TypeOf(ColumnType type) {
  switch (type) {
    case ColumnType::kInt64:
      return Type::kInt64;
    case ColumnType::kFloat:
      return Type::kDouble;
    case ColumnType::kBytes:
      break;
  }
  return Type::kString;
}

bool IsNumber(Type type) { return type == Type::kInt64 || type == Type::kDouble; }

// Returns the name nearest to `word`, or one whose last part it is, such as "image/height" for "height". Returns "" if
// there is none.
std::string NearestName(const std::string& word, const std::vector<std::string>& names) {
  const std::string near = NearName(word, names);
  if (!near.empty()) return near;
  for (const std::string& name : names) {
    if (absl::EndsWith(name, absl::StrCat("/", word))) return name;
  }
  return "";
}

// Returns the name as an expression has it.
std::string AsWritten(const std::string& name) {
  const bool plain = !absl::ascii_isdigit(static_cast<unsigned char>(name[0])) &&
                     std::all_of(name.begin(), name.end(),
                                 [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; });
  return plain ? QuotedName(name) : absl::StrCat("col(", QuotedName(name), ")");
}

class Checker {
 public:
  Checker(std::string_view text, const std::map<std::string, ColumnType>& columns) : text_(text), columns_(columns) {}

  absl::Status CheckAll(Kind kind, Node* root) {
    PS_RETURN_IF_ERROR(Check(root));
    if (kind == Kind::kAny || (kind == Kind::kCondition) == (root->type == Type::kBool)) return absl::OkStatus();
    if (kind == Kind::kValue) return ErrorAt(text_, root->begin, "the expression is a condition, not a value");
    return ErrorAt(text_, root->begin,
                   absl::StrCat("the expression is ", Name(root->type),
                                ", not a condition; compare it, for example with == or >"));
  }
  std::vector<Operand> TakeOperands() { return std::move(operands_); }

 private:
  static std::string Name(Type type) { return std::string(TypeName(type)); }

  // Recurses at most as deep as the parser.
  absl::Status Check(Node* node) {
    switch (node->kind) {
      case NodeKind::kLiteral:
        return absl::OkStatus();
      case NodeKind::kFeature:
        return CheckFeature(Operand::Fact::kValue, *node, node);
      case NodeKind::kCall:
        return CheckCall(node);
      case NodeKind::kOr:
        return CheckConditions("or", node);
      case NodeKind::kAnd:
        return CheckConditions("and", node);
      case NodeKind::kNot:
        return CheckConditions("not", node);
      case NodeKind::kCompare:
        return CheckComparison(node);
      case NodeKind::kIn:
        return CheckIn(node);
      case NodeKind::kArithmetic:
        return CheckArithmetic(node);
      case NodeKind::kNegate:
        PS_RETURN_IF_ERROR(Check(&node->children[0]));
        node->type = node->children[0].type;
        if (IsNumber(node->type)) return absl::OkStatus();
        return ErrorAt(text_, node->at, absl::StrCat("'-' needs a number, not ", Name(node->type)));
    }
    return absl::OkStatus();
  }

  absl::Status CheckConditions(const char* word, Node* node) {
    node->type = Type::kBool;
    for (Node& child : node->children) {
      PS_RETURN_IF_ERROR(Check(&child));
      if (child.type == Type::kBool) continue;
      return ErrorAt(text_, child.begin,
                     absl::StrCat("`", word, "` needs conditions, not ", Name(child.type),
                                  "; compare the value, for example with == or >"));
    }
    return absl::OkStatus();
  }

  absl::Status CheckComparison(Node* node) {
    for (Node& child : node->children) PS_RETURN_IF_ERROR(Check(&child));
    node->type = Type::kBool;
    const Type left = node->children[0].type, right = node->children[1].type;
    if ((IsNumber(left) && IsNumber(right)) || (left == Type::kString && right == Type::kString)) {
      return absl::OkStatus();
    }
    const char* const op = OperatorText(node->operators[0]);
    if (left == Type::kBool || right == Type::kBool) {
      return ErrorAt(text_, node->at,
                     absl::StrCat("'", op, "' compares numbers or strings, not conditions; use `and`, `or` and `not`"));
    }
    return ErrorAt(text_, node->at, absl::StrCat("'", op, "' cannot compare ", Name(left), " with ", Name(right)));
  }

  absl::Status CheckIn(Node* node) {
    PS_RETURN_IF_ERROR(Check(&node->children[0]));
    node->type = Type::kBool;
    const Type value = node->children[0].type, first = node->children[1].type;
    for (size_t i = 1; i < node->children.size(); ++i) {
      const Node& literal = node->children[i];
      if (literal.type == first) continue;
      return ErrorAt(text_, literal.begin,
                     absl::StrCat("a list has literals of one type; this is ", Name(literal.type), ", the first is ",
                                  Name(first)));
    }
    if (value == Type::kBool || IsNumber(value) != IsNumber(first)) {
      return ErrorAt(text_, node->at,
                     absl::StrCat("`in` cannot compare ", Name(value), " with a list of ", Name(first)));
    }
    node->sorted.reserve(node->children.size() - 1);
    for (size_t i = 1; i < node->children.size(); ++i) {
      const Node& literal = node->children[i];
      node->sorted.push_back(first == Type::kInt64    ? Value::Int64(literal.integer)
                             : first == Type::kDouble ? Value::Double(literal.real)
                                                      : Value::String(literal.text));
    }
    std::sort(node->sorted.begin(), node->sorted.end(),
              [](const Value& a, const Value& b) { return Compare(a, b) < 0; });
    return absl::OkStatus();
  }

  absl::Status CheckArithmetic(Node* node) {
    for (Node& child : node->children) PS_RETURN_IF_ERROR(Check(&child));
    node->type = node->children[0].type;
    for (size_t i = 0; i < node->children.size(); ++i) {
      const Node& child = node->children[i];
      const Operator op = node->operators[i == 0 ? 0 : i - 1];
      if (!IsNumber(child.type)) {
        return ErrorAt(text_, child.begin,
                       absl::StrCat("'", OperatorText(op), "' needs numbers, not ", Name(child.type)));
      }
      if (child.type == Type::kDouble || (i > 0 && op == Operator::kDivide)) node->type = Type::kDouble;
    }
    return absl::OkStatus();
  }

  absl::Status CheckCall(Node* node) {
    const FunctionSpec* spec = nullptr;
    std::vector<std::string> names = {"col"};
    for (const FunctionSpec& each : kFunctions) {
      if (node->text == each.name) spec = &each;
      names.emplace_back(each.name);
    }
    if (spec == nullptr) {
      return ErrorAt(text_, node->at,
                     absl::StrCat("there is no function ", QuotedName(node->text), DidYouMean(node->text, names),
                                  "; the functions are ", absl::StrJoin(names, ", ")));
    }
    node->function = spec->function;
    if (node->children.size() != spec->arguments) {
      return ErrorAt(text_, node->at,
                     absl::StrCat(node->text, "() takes ", spec->arguments,
                                  spec->arguments == 1 ? " argument" : " arguments", ": ", spec->form));
    }
    Node& argument = node->children[0];
    switch (node->function) {
      case Function::kLen:
        return CheckFact(Operand::Fact::kLen, *spec, node);
      case Function::kBytes:
        return CheckFact(Operand::Fact::kBytes, *spec, node);
      case Function::kHas:
        return CheckFact(Operand::Fact::kHas, *spec, node);
      case Function::kHash:
        PS_RETURN_IF_ERROR(Check(&argument));
        node->type = Type::kInt64;
        if (argument.type != Type::kBool) return absl::OkStatus();
        return ErrorAt(text_, argument.begin, "hash() needs a number or a string, not a condition");
      case Function::kStartsWith:
      case Function::kMatches:
        break;
    }
    PS_RETURN_IF_ERROR(Check(&argument));
    node->type = Type::kBool;
    if (argument.type != Type::kString) {
      return ErrorAt(text_, argument.begin, absl::StrCat(node->text, "() needs a STRING, not ", Name(argument.type)));
    }
    const Node& literal = node->children[1];
    if (literal.kind != NodeKind::kLiteral || literal.type != Type::kString) {
      return ErrorAt(text_, literal.begin,
                     absl::StrCat("the second argument of ", node->text, "() is a string in quotes: ", spec->form));
    }
    if (node->function == Function::kStartsWith) return absl::OkStatus();
    absl::StatusOr<std::shared_ptr<const Pattern>> pattern = Pattern::Compile(literal.text);
    if (!pattern.ok()) return ErrorAt(text_, literal.begin, Message(pattern.status()));
    node->pattern = *std::move(pattern);
    return absl::OkStatus();
  }

  static std::string Message(const absl::Status& status) { return std::string(status.message()); }

  // Checks a call of len, bytes or has.
  absl::Status CheckFact(Operand::Fact fact, const FunctionSpec& spec, Node* node) {
    const Node& argument = node->children[0];
    if (argument.kind != NodeKind::kFeature) {
      return ErrorAt(
          text_, argument.begin,
          absl::StrCat(node->text, "() needs the name of a feature: ", spec.form, " or ", node->text, "(col('NAME'))"));
    }
    return CheckFeature(fact, argument, node);
  }

  // Makes `node` the operand that is a fact about the feature `named`.
  absl::Status CheckFeature(Operand::Fact fact, const Node& named, Node* node) {
    const auto column = columns_.find(named.text);
    if (column == columns_.end()) return UnknownFeature(named);
    Operand operand{.feature = named.text, .fact = fact};
    switch (fact) {
      case Operand::Fact::kValue:
        operand.type = TypeOf(column->second);
        break;
      case Operand::Fact::kBytes:
        if (column->second != ColumnType::kBytes) {
          return ErrorAt(text_, named.begin,
                         absl::StrCat("bytes() needs a feature of BYTES; ", QuotedName(named.text), " is ",
                                      column->second == ColumnType::kInt64 ? "INT64" : "FLOAT",
                                      " (len(x) is the number of values)"));
        }
        [[fallthrough]];
      case Operand::Fact::kLen:
        operand.type = Type::kInt64;
        break;
      case Operand::Fact::kHas:
        operand.type = Type::kBool;
        break;
    }
    node->type = operand.type;
    // The index finds each operand in the order of the text.
    const auto [known, added] = known_.emplace(std::pair(operand.feature, operand.fact), operands_.size());
    node->operand = known->second;
    if (added) operands_.push_back(std::move(operand));
    return absl::OkStatus();
  }

  absl::Status UnknownFeature(const Node& named) const {
    std::vector<std::string> names;
    std::string longest;  // the longest feature with special characters whose name is written here without quotes
    for (const auto& [name, type] : columns_) {
      names.push_back(name);
      if (name.size() > longest.size() && text_.substr(named.begin, name.size()) == name) longest = name;
    }
    std::string advice;
    if (longest.size() > named.text.size()) {
      advice = absl::StrCat(" (write col('", longest, "')?)");
    } else if (const std::string near = NearestName(named.text, names); !near.empty()) {
      advice = absl::StrCat(" (did you mean ", AsWritten(near), "?)");
    }
    std::string list;
    if (names.empty()) {
      list = "the records have no features";
    } else {
      const size_t others = names.size() - std::min(names.size(), kShownNames);
      names.resize(names.size() - others);
      list = absl::StrCat("the features are ", absl::StrJoin(names, ", "));
      if (others > 0) absl::StrAppend(&list, " and ", others, " more");
    }
    return ErrorAt(text_, named.at, absl::StrCat("there is no feature ", QuotedName(named.text), advice, "; ", list));
  }

  const std::string_view text_;
  const std::map<std::string, ColumnType>& columns_;
  std::vector<Operand> operands_;
  std::map<std::pair<std::string, Operand::Fact>, size_t> known_;
};

}  // namespace

absl::StatusOr<std::vector<Operand>> CheckTypes(std::string_view text, const std::map<std::string, ColumnType>& columns,
                                                Kind kind, Node* root) {
  Checker checker(text, columns);
  PS_RETURN_IF_ERROR(checker.CheckAll(kind, root));
  return checker.TakeOperands();
}

}  // namespace penstock::select
