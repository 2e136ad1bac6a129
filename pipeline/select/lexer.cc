#include "pipeline/select/lexer.h"

#include <cmath>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/charconv.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "pipeline/select/error_text.h"

namespace penstock::select {
namespace {

constexpr uint64_t kLargestMagnitude = uint64_t{1} << 63;  // minus the smallest INT64

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }
bool BeginsName(char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool IsNamePart(char c) { return BeginsName(c) || IsDigit(c); }

// Symbols of other languages, with the symbol or word of this one. The longer ones come first.
constexpr std::pair<std::string_view, std::string_view> kForeign[] = {
    {"&&", "write `and`"},
    {"||", "write `or`"},
    {"<>", "write `!=`"},
    {"**", "write a product"},
    {"&", "write `and`"},
    {"|", "write `or`"},
    {"!", "write `not`"},
    {"=", "write `==` to compare"},
    {"^", "there are no operators on bits"},
    {"~", "write `not`"},
    {"[", "write a list in parentheses, such as (1, 2)"},
    {"`", "write a name with other characters as col('NAME')"},
    {".", "write a name with characters other than letters, digits and _ as col('NAME')"},
};

}  // namespace

absl::StatusOr<Token> Lexer::Next() {
  while (next_ < text_.size() && absl::ascii_isspace(static_cast<unsigned char>(text_[next_]))) ++next_;
  Token token;
  token.begin = token.end = next_;
  if (next_ == text_.size()) return token;
  const char c = text_[next_];
  if (BeginsName(c)) {
    while (IsNamePart(At(next_))) ++next_;
    token.end = next_;
    token.text = std::string(text_.substr(token.begin, token.end - token.begin));
    const bool keyword = token.text == "and" || token.text == "or" || token.text == "not" || token.text == "in";
    token.kind = keyword ? TokenKind::kKeyword : TokenKind::kName;
    return token;
  }
  if (IsDigit(c) || (c == '.' && IsDigit(At(next_ + 1)))) return NextNumber();
  if (c == '\'' || c == '"') return NextString();
  return NextSymbol();
}

absl::StatusOr<Token> Lexer::NextNumber() {
  Token token;
  token.begin = next_;
  size_t end = next_;
  while (IsDigit(At(end))) ++end;
  bool real = false;
  if (At(end) == '.') {
    real = true;
    for (++end; IsDigit(At(end));) ++end;
  }
  if (At(end) == 'e' || At(end) == 'E') {
    const size_t digits = end + (At(end + 1) == '+' || At(end + 1) == '-' ? 2 : 1);
    if (IsDigit(At(digits))) {
      real = true;
      for (end = digits; IsDigit(At(end));) ++end;
    }
  }
  if (IsNamePart(At(end))) return ErrorAt(text_, end, "a number ends here; a letter cannot follow it");
  const std::string_view digits = text_.substr(next_, end - next_);
  next_ = token.end = end;
  if (real) {
    token.kind = TokenKind::kReal;
    const absl::from_chars_result read = absl::from_chars(digits.data(), digits.data() + digits.size(), token.real);
    if (read.ec == std::errc::result_out_of_range && std::abs(token.real) > 1) {
      return ErrorAt(text_, token.begin, "the number exceeds the range of DOUBLE");
    }
    return token;
  }
  if (digits.size() > 1 && digits[0] == '0') {
    return ErrorAt(text_, token.begin, "an integer begins with 0; write it in decimal, without leading zeros");
  }
  token.kind = TokenKind::kInteger;
  if (!absl::SimpleAtoi(absl::string_view(digits.data(), digits.size()), &token.integer) ||
      token.integer > kLargestMagnitude) {
    return ErrorAt(text_, token.begin, "the integer exceeds the range of INT64; with a decimal point it is a DOUBLE");
  }
  return token;
}

absl::StatusOr<Token> Lexer::NextString() {
  Token token;
  token.kind = TokenKind::kString;
  token.begin = next_;
  const char quote = text_[next_];
  for (size_t i = next_ + 1; i < text_.size() && text_[i] != '\n'; ++i) {
    const char c = text_[i];
    if (c == quote) {
      next_ = token.end = i + 1;
      return token;
    }
    if (c != '\\') {
      token.text += c;
      continue;
    }
    const char escape = At(++i);
    if (escape == '\\' || escape == '\'' || escape == '"') {
      token.text += escape;
    } else if (escape == 'n') {
      token.text += '\n';
    } else if (escape == 't') {
      token.text += '\t';
    } else if (escape == 'x' && absl::ascii_isxdigit(static_cast<unsigned char>(At(i + 1))) &&
               absl::ascii_isxdigit(static_cast<unsigned char>(At(i + 2)))) {
      uint32_t byte = 0;
      (void)absl::SimpleHexAtoi(absl::string_view(text_.data() + i + 1, 2), &byte);
      token.text += static_cast<char>(byte);
      i += 2;
    } else {
      return ErrorAt(text_, i - 1,
                     R"(unknown escape; the escapes are \\ \' \" \n \t and \xNN, so write \\ for a backslash)");
    }
  }
  return ErrorAt(text_, token.begin, absl::StrCat("the string has no closing ", std::string(1, quote)));
}

absl::StatusOr<Token> Lexer::NextSymbol() {
  Token token;
  token.kind = TokenKind::kSymbol;
  token.begin = next_;
  for (const char* symbol : {"==", "!=", "<=", ">=", "//"}) {
    if (text_.substr(next_, 2) != symbol) continue;
    token.text = symbol;
    next_ = token.end = next_ + 2;
    return token;
  }
  const std::string_view rest = text_.substr(next_);
  for (const auto& [symbol, advice] : kForeign) {
    if (rest.substr(0, symbol.size()) != symbol) continue;
    return ErrorAt(text_, next_, absl::StrCat("'", std::string(symbol), "' is unknown; ", std::string(advice)));
  }
  if (std::string_view("<>+-*/%(),").find(text_[next_]) == std::string_view::npos) {
    return ErrorAt(text_, next_, "unexpected character");
  }
  token.text = std::string(1, text_[next_]);
  token.end = ++next_;
  return token;
}

}  // namespace penstock::select
