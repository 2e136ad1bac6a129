// The tokens of a textproto file, by their places in its text.
#ifndef PENSTOCK_CONFIG_TEXT_TOKENS_H_
#define PENSTOCK_CONFIG_TEXT_TOKENS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::config {

struct Token {
  std::string text;  // a string with its quotes
  int line, column, end_column;
  bool identifier;
};

// Returns the tokens without comments. Sets *whole, if not null, to true if the whole text could be split into tokens.
std::vector<Token> Tokens(std::string_view text, bool* whole = nullptr);

// Returns the offset of a column in a line. The tokenizer counts a tab as up to eight columns.
size_t OffsetOf(std::string_view text, int line, int column);

}  // namespace penstock::config

#endif  // PENSTOCK_CONFIG_TEXT_TOKENS_H_
