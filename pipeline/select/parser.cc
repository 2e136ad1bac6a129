#include "pipeline/select/parser.h"

#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "pipeline/select/error_text.h"
#include "pipeline/select/lexer.h"

namespace penstock::select {
namespace {

constexpr uint64_t kMinimumMagnitude = uint64_t{1} << 63;  // minus the smallest INT64

std::optional<Operator> ComparisonOf(const Token& token) {
  if (token.kind != TokenKind::kSymbol) return std::nullopt;
  for (const Operator op : {Operator::kEqual, Operator::kNotEqual, Operator::kLess, Operator::kLessOrEqual,
                            Operator::kGreater, Operator::kGreaterOrEqual}) {
    if (token.text == OperatorText(op)) return op;
  }
  return std::nullopt;
}

std::optional<Operator> ArithmeticOf(const Token& token, bool product) {
  if (token.kind != TokenKind::kSymbol) return std::nullopt;
  if (product) {
    for (const Operator op : {Operator::kMultiply, Operator::kDivide, Operator::kFloorDivide, Operator::kModulo}) {
      if (token.text == OperatorText(op)) return op;
    }
    return std::nullopt;
  }
  if (token.text == "+") return Operator::kAdd;
  if (token.text == "-") return Operator::kSubtract;
  return std::nullopt;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), lexer_(text) {}

  absl::StatusOr<Node> ParseAll() {
    PS_RETURN_IF_ERROR(Advance());
    if (token_.kind == TokenKind::kEnd) return Error("the expression is empty");
    Node root;
    PS_RETURN_IF_ERROR(ParseOr(&root));
    if (token_.kind != TokenKind::kEnd) {
      return Error(token_.text == ")" && token_.kind == TokenKind::kSymbol ? "no parenthesis is open here"
                                                                           : "an operator or the end is expected here");
    }
    return root;
  }

 private:
  // Counts a level of nesting while it exists.
  class Level {
   public:
    explicit Level(Parser* parser) : parser_(parser) { ++parser_->depth_; }
    ~Level() { --parser_->depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser* const parser_;
  };

  absl::Status Error(std::string_view message) const { return ErrorAt(text_, token_.begin, message); }
  absl::Status CheckDepth() const {
    if (depth_ <= kMaxDepth) return absl::OkStatus();
    return Error(absl::StrCat("the expression is nested more than ", kMaxDepth, " levels deep"));
  }
  absl::Status Advance() {
    last_end_ = token_.end;
    PS_ASSIGN_OR_RETURN(token_, lexer_.Next());
    return absl::OkStatus();
  }
  bool IsSymbol(std::string_view symbol) const { return token_.kind == TokenKind::kSymbol && token_.text == symbol; }
  bool IsKeyword(std::string_view word) const { return token_.kind == TokenKind::kKeyword && token_.text == word; }
  absl::Status Expect(std::string_view symbol) {
    if (!IsSymbol(symbol)) return Error(absl::StrCat("'", std::string(symbol), "' is expected here"));
    return Advance();
  }
  absl::Status Count() {
    if (++nodes_ <= kMaxNodes) return absl::OkStatus();
    return Error(absl::StrCat("the expression has more than ", kMaxNodes, " parts"));
  }
  // Makes `first` the first child of a node of `kind` that begins where `first` does.
  absl::Status Wrap(NodeKind kind, Node* node) {
    PS_RETURN_IF_ERROR(Count());
    Node outer;
    outer.kind = kind;
    outer.begin = node->begin;
    outer.at = token_.begin;
    outer.children.push_back(std::move(*node));
    *node = std::move(outer);
    return absl::OkStatus();
  }

  absl::Status ParseOr(Node* node) { return ParseWords("or", NodeKind::kOr, &Parser::ParseAnd, node); }
  absl::Status ParseAnd(Node* node) { return ParseWords("and", NodeKind::kAnd, &Parser::ParseNot, node); }

  absl::Status ParseWords(std::string_view word, NodeKind kind, absl::Status (Parser::*part)(Node*), Node* node) {
    PS_RETURN_IF_ERROR((this->*part)(node));
    if (!IsKeyword(word)) return absl::OkStatus();
    PS_RETURN_IF_ERROR(Wrap(kind, node));
    while (IsKeyword(word)) {
      PS_RETURN_IF_ERROR(Advance());
      PS_RETURN_IF_ERROR((this->*part)(&node->children.emplace_back()));
    }
    node->end = last_end_;
    return absl::OkStatus();
  }

  absl::Status ParseNot(Node* node) {
    if (!IsKeyword("not")) return ParseComparison(node);
    const Level level(this);
    PS_RETURN_IF_ERROR(CheckDepth());
    PS_RETURN_IF_ERROR(Count());
    node->kind = NodeKind::kNot;
    node->begin = node->at = token_.begin;
    PS_RETURN_IF_ERROR(Advance());
    PS_RETURN_IF_ERROR(ParseNot(&node->children.emplace_back()));
    node->end = last_end_;
    return absl::OkStatus();
  }

  absl::Status ParseComparison(Node* node) {
    PS_RETURN_IF_ERROR(ParseArithmetic(false, node));
    const std::optional<Operator> op = ComparisonOf(token_);
    const bool negated = IsKeyword("not");
    if (!op && !negated && !IsKeyword("in")) return absl::OkStatus();
    if (op) {
      PS_RETURN_IF_ERROR(Wrap(NodeKind::kCompare, node));
      node->operators.push_back(*op);
      PS_RETURN_IF_ERROR(Advance());
      PS_RETURN_IF_ERROR(ParseArithmetic(false, &node->children.emplace_back()));
    } else {
      PS_RETURN_IF_ERROR(Wrap(NodeKind::kIn, node));
      node->negated = negated;
      PS_RETURN_IF_ERROR(Advance());
      if (negated) {
        if (!IsKeyword("in"))
          return Error("`in` is expected after `not` here; `not` before a condition precedes all of it");
        PS_RETURN_IF_ERROR(Advance());
      }
      PS_RETURN_IF_ERROR(ParseList(node));
    }
    node->end = last_end_;
    if (ComparisonOf(token_) || IsKeyword("in")) return Chained(*node);
    return absl::OkStatus();
  }

  // Returns the error of a second comparison in a row.
  absl::Status Chained(const Node& first) {
    const size_t place = token_.begin;
    if (first.kind == NodeKind::kIn || !ComparisonOf(token_)) {
      return Error("comparisons do not chain; join them with `and`, or put one in parentheses");
    }
    const std::string op = token_.text;
    PS_RETURN_IF_ERROR(Advance());
    Node right;
    PS_RETURN_IF_ERROR(ParseArithmetic(false, &right));
    const Node& middle = first.children[1];
    return ErrorAt(text_, place,
                   absl::StrCat("comparisons do not chain; write ", Quoted(Part(first)), " and ",
                                Quoted(absl::StrCat(std::string(Part(middle)), " ", op, " ", std::string(Part(right)))),
                                ", joined with `and`"));
  }
  std::string_view Part(const Node& node) const { return text_.substr(node.begin, node.end - node.begin); }

  absl::Status ParseList(Node* node) {
    if (!IsSymbol("(")) return Error("a list in parentheses is expected here, such as (1, 2)");
    PS_RETURN_IF_ERROR(Advance());
    if (IsSymbol(")")) return Error("the list is empty");
    while (true) {
      PS_RETURN_IF_ERROR(ParseListItem(&node->children.emplace_back()));
      if (IsSymbol(")")) break;
      if (!IsSymbol(",")) return Error("',' or ')' is expected here; a list has only literals");
      PS_RETURN_IF_ERROR(Advance());
      if (IsSymbol(")")) break;
    }
    return Advance();
  }

  absl::Status ParseListItem(Node* node) {
    const size_t begin = token_.begin;
    const bool minus = IsSymbol("-");
    if (minus) PS_RETURN_IF_ERROR(Advance());
    const bool number = token_.kind == TokenKind::kInteger || token_.kind == TokenKind::kReal;
    if (!number && (minus || token_.kind != TokenKind::kString))
      return Error("a list has only literals: numbers or strings");
    return ParseLiteral(begin, minus, node);
  }

  // Parses + and -, or with `product` * / // and %.
  absl::Status ParseArithmetic(bool product, Node* node) {
    PS_RETURN_IF_ERROR(product ? ParseSign(node) : ParseArithmetic(true, node));
    std::optional<Operator> op = ArithmeticOf(token_, product);
    if (!op) return absl::OkStatus();
    PS_RETURN_IF_ERROR(Wrap(NodeKind::kArithmetic, node));
    for (; op; op = ArithmeticOf(token_, product)) {
      node->operators.push_back(*op);
      PS_RETURN_IF_ERROR(Advance());
      Node& next = node->children.emplace_back();
      PS_RETURN_IF_ERROR(product ? ParseSign(&next) : ParseArithmetic(true, &next));
    }
    node->end = last_end_;
    return absl::OkStatus();
  }

  absl::Status ParseSign(Node* node) {
    if (!IsSymbol("-")) return ParsePrimary(node);
    const Level level(this);
    PS_RETURN_IF_ERROR(CheckDepth());
    const size_t begin = token_.begin;
    PS_RETURN_IF_ERROR(Advance());
    if (token_.kind == TokenKind::kInteger || token_.kind == TokenKind::kReal) return ParseLiteral(begin, true, node);
    PS_RETURN_IF_ERROR(Count());
    node->kind = NodeKind::kNegate;
    node->begin = node->at = begin;
    PS_RETURN_IF_ERROR(ParseSign(&node->children.emplace_back()));
    node->end = last_end_;
    return absl::OkStatus();
  }

  absl::Status ParsePrimary(Node* node) {
    switch (token_.kind) {
      case TokenKind::kInteger:
      case TokenKind::kReal:
      case TokenKind::kString:
        return ParseLiteral(token_.begin, false, node);
      case TokenKind::kName:
        return ParseName(node);
      case TokenKind::kEnd:
        return Error("the expression ends here; a value is expected");
      case TokenKind::kKeyword:
        return Error(absl::StrCat("a value is expected here, not `", token_.text, "`; a feature of this name is col('",
                                  token_.text, "')"));
      case TokenKind::kSymbol:
        break;
    }
    if (!IsSymbol("(")) return Error("a value is expected here");
    const Level level(this);
    PS_RETURN_IF_ERROR(CheckDepth());
    const size_t begin = token_.begin;
    PS_RETURN_IF_ERROR(Advance());
    PS_RETURN_IF_ERROR(ParseOr(node));
    PS_RETURN_IF_ERROR(Expect(")"));
    node->begin = begin;
    node->end = last_end_;
    return absl::OkStatus();
  }

  // Parses the number or string that is the token. `begin` is the place of its minus sign, if `minus`.
  absl::Status ParseLiteral(size_t begin, bool minus, Node* node) {
    PS_RETURN_IF_ERROR(Count());
    node->kind = NodeKind::kLiteral;
    node->begin = node->at = begin;
    node->end = token_.end;
    if (token_.kind == TokenKind::kString) {
      node->type = Type::kString;
      node->text = token_.text;
    } else if (token_.kind == TokenKind::kReal) {
      node->type = Type::kDouble;
      node->real = minus ? -token_.real : token_.real;
    } else if (minus && token_.integer == kMinimumMagnitude) {
      node->integer = std::numeric_limits<int64_t>::min();
    } else if (token_.integer == kMinimumMagnitude) {
      return Error("the integer exceeds the range of INT64; with a decimal point it is a DOUBLE");
    } else {
      const auto magnitude = static_cast<int64_t>(token_.integer);
      node->integer = minus ? -magnitude : magnitude;
    }
    return Advance();
  }

  // Parses a feature or a call.
  absl::Status ParseName(Node* node) {
    PS_RETURN_IF_ERROR(Count());
    node->kind = NodeKind::kFeature;
    node->begin = node->at = token_.begin;
    node->end = token_.end;
    node->text = token_.text;
    PS_RETURN_IF_ERROR(Advance());
    if (!IsSymbol("(")) return absl::OkStatus();
    const Level level(this);
    PS_RETURN_IF_ERROR(CheckDepth());
    PS_RETURN_IF_ERROR(Advance());
    if (node->text == "col") {
      if (token_.kind != TokenKind::kString) return Error("the name of a feature is expected here, in quotes");
      node->text = token_.text;
      PS_RETURN_IF_ERROR(Advance());
      PS_RETURN_IF_ERROR(Expect(")"));
    } else {
      node->kind = NodeKind::kCall;
      while (!IsSymbol(")")) {
        PS_RETURN_IF_ERROR(ParseOr(&node->children.emplace_back()));
        if (IsSymbol(")")) break;
        if (!IsSymbol(",")) return Error("',' or ')' is expected here");
        PS_RETURN_IF_ERROR(Advance());
      }
      PS_RETURN_IF_ERROR(Advance());
    }
    node->end = last_end_;
    return absl::OkStatus();
  }

  const std::string_view text_;
  Lexer lexer_;
  Token token_;          // the next token
  size_t last_end_ = 0;  // the end of the token before it
  size_t nodes_ = 0;
  int depth_ = 0;
};

}  // namespace

const char* OperatorText(Operator op) {
  switch (op) {
    case Operator::kEqual:
      return "==";
    case Operator::kNotEqual:
      return "!=";
    case Operator::kLess:
      return "<";
    case Operator::kLessOrEqual:
      return "<=";
    case Operator::kGreater:
      return ">";
    case Operator::kGreaterOrEqual:
      return ">=";
    case Operator::kAdd:
      return "+";
    case Operator::kSubtract:
      return "-";
    case Operator::kMultiply:
      return "*";
    case Operator::kDivide:
      return "/";
    case Operator::kFloorDivide:
      return "//";
    case Operator::kModulo:
      return "%";
  }
  return "";
}

absl::StatusOr<Node> ParseTree(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the expression has ", text.size(), " bytes; at most ", kMaxTextBytes, " are allowed"));
  }
  return Parser(text).ParseAll();
}

}  // namespace penstock::select
