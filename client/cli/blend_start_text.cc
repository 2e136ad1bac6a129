#include "client/cli/blend_start_text.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "config/text_tokens.h"

namespace penstock::cli {
namespace {

using config::Token;

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
  const std::vector<Token> tokens = config::Tokens(text);
  const std::optional<Field> blend = FieldOf(tokens, 0, tokens.size(), "blend");
  if (!blend.has_value()) return std::nullopt;
  const auto begin_of = [&](size_t i) { return config::OffsetOf(text, tokens[i].line, tokens[i].column); };
  const auto end_of = [&](size_t i) { return config::OffsetOf(text, tokens[i].line, tokens[i].end_column); };
  const size_t close = begin_of(blend->close);
  std::string head(text.substr(0, close));
  if (const std::optional<Field> old = FieldOf(tokens, blend->open + 1, blend->close, "start")) {
    const std::string& next = tokens[old->close + 1].text;  // at the latest, the brace of the blend
    const size_t last = next == ";" || next == "," ? old->close + 1 : old->close;
    head.erase(begin_of(old->name), end_of(last) - begin_of(old->name));
  }
  absl::StripTrailingAsciiWhitespace(&head);
  return head + "\n" + TextOf(start, adds_epoch_rows) + std::string(text.substr(close));
}

}  // namespace penstock::cli
