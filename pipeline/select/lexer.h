// Splits the text of an expression into tokens. Internal to select/.
#ifndef PENSTOCK_PIPELINE_SELECT_LEXER_H_
#define PENSTOCK_PIPELINE_SELECT_LEXER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace penstock::select {

enum class TokenKind : uint8_t {
  kEnd,
  kName,     // `text`
  kKeyword,  // `text`: and, or, not, in
  kInteger,  // `integer`, at most 2^63
  kReal,     // `real`
  kString,   // `text`: the bytes, without quotes and escapes
  kSymbol,   // `text`: an operator, a parenthesis or a comma
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  size_t begin = 0, end = 0;  // bytes of the text
  std::string text;
  uint64_t integer = 0;
  double real = 0;
};

class Lexer {
 public:
  // `text` must outlive the lexer.
  explicit Lexer(std::string_view text) : text_(text) {}

  // Returns the next token, and kEnd after the last one. Returns InvalidArgument (ErrorAt) for bytes that begin no
  // token.
  absl::StatusOr<Token> Next();

 private:
  absl::StatusOr<Token> NextNumber();
  absl::StatusOr<Token> NextString();
  absl::StatusOr<Token> NextSymbol();
  char At(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  const std::string_view text_;
  size_t next_ = 0;
};

}  // namespace penstock::select

#endif  // PENSTOCK_PIPELINE_SELECT_LEXER_H_
