#include "client/cli/blend_start_text.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace penstock::cli {
namespace {

// A word or a sign of a textproto. A string is a word.
struct Token {
  size_t begin = 0, end = 0;
  std::string_view text;
};

std::vector<Token> TokensOf(std::string_view text) {
  std::vector<Token> tokens;
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (absl::ascii_isspace(static_cast<unsigned char>(text[at]))) {
      at = end;
      continue;
    }
    if (text[at] == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (text[at] == '"' || text[at] == '\'') {
      while (end < text.size() && text[end] != text[at]) end += text[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, text.size());
    } else if (is_word(text[at])) {
      while (end < text.size() && is_word(text[end])) ++end;
    }
    tokens.push_back({at, end, text.substr(at, end - at)});
    at = end;
  }
  return tokens;
}

bool Opens(const Token& token) { return token.text == "{" || token.text == "<"; }
bool Closes(const Token& token) { return token.text == "}" || token.text == ">"; }

// The tokens of a message's field: its name, and the braces of its value.
struct Field {
  size_t name = 0, open = 0, close = 0;
};

// Returns the field `name` of the message whose fields are the tokens [begin, end).
std::optional<Field> FieldOf(const std::vector<Token>& tokens, size_t begin, size_t end, std::string_view name) {
  int depth = 0;
  std::optional<Field> found;
  for (size_t i = begin; i < end; ++i) {
    if (Opens(tokens[i])) ++depth;
    if (Closes(tokens[i])) --depth;
    if (found.has_value() && depth == 0 && Closes(tokens[i])) {
      found->close = i;
      return found;
    }
    if (found.has_value() || depth != 0 || tokens[i].text != name) continue;
    const size_t open = i + 1 < end && tokens[i + 1].text == ":" ? i + 2 : i + 1;
    if (open < end && Opens(tokens[open])) found = Field{i, open, 0};
  }
  return std::nullopt;
}

std::string TextOf(const v1::BlendStart& start, bool adds_epoch_rows) {
  const auto hex = [](uint64_t value) { return absl::StrCat("0x", absl::Hex(value, absl::kZeroPad16)); };
  std::string out;
  if (adds_epoch_rows) absl::StrAppend(&out, "  epoch_rows: ", start.epoch_rows(), "\n");
  absl::StrAppend(&out, "  start {\n    order: ", hex(start.order()), "\n    epoch: ", start.epoch(),
                  "\n    position: ", start.position(), "\n    epoch_rows: ", start.epoch_rows(), "\n");
  for (const v1::SetStart& set : start.sets()) {
    absl::StrAppend(&out, "    sets { key: \"", absl::CEscape(set.key()), "\" rows: ", set.rows(),
                    " order: ", hex(set.order()), " }\n");
  }
  return absl::StrCat(out, "  }\n");
}

}  // namespace

std::optional<std::string> WithBlendStart(std::string_view text, const v1::BlendStart& start, bool adds_epoch_rows) {
  const std::vector<Token> tokens = TokensOf(text);
  const std::optional<Field> blend = FieldOf(tokens, 0, tokens.size(), "blend");
  if (!blend.has_value()) return std::nullopt;
  std::string head(text.substr(0, tokens[blend->close].begin));
  if (const std::optional<Field> old = FieldOf(tokens, blend->open + 1, blend->close, "start")) {
    const size_t begin = tokens[old->name].begin;
    const Token& next = tokens[old->close + 1];  // at the latest, the brace of the blend
    head.erase(begin, (next.text == ";" || next.text == "," ? next.end : tokens[old->close].end) - begin);
  }
  absl::StripTrailingAsciiWhitespace(&head);
  return head + "\n" + TextOf(start, adds_epoch_rows) + std::string(text.substr(tokens[blend->close].begin));
}

}  // namespace penstock::cli
