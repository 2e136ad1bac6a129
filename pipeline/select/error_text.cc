#include "pipeline/select/error_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/utf8.h"

namespace penstock::select {
namespace {

constexpr size_t kShownCharacters = 100;
constexpr size_t kCharactersBefore = 60;  // before the place, if the line is longer
constexpr size_t kQuotedBytes = 60;

// A line as characters, each of one column.
struct ShownLine {
  std::vector<std::string> characters;
  size_t place = 0;  // the index of the character for the caret
};

ShownLine Show(std::string_view line, size_t at) {
  ShownLine shown;
  for (size_t i = 0; i < line.size();) {
    if (i <= at) shown.place = shown.characters.size();
    const size_t length = Utf8SequenceLength(line, i);
    const auto code = static_cast<unsigned char>(line[i]);
    const bool printable = length > 1 || (length == 1 && code >= 0x20 && code != 0x7f);
    shown.characters.emplace_back(printable ? line.substr(i, length) : code == '\t' ? " " : "?");
    i += std::max<size_t>(length, 1);
  }
  if (at >= line.size()) shown.place = shown.characters.size();
  return shown;
}

std::string OneLine(std::string_view part) {
  std::string line = TruncatedUtf8(part, kQuotedBytes);
  for (char& c : line) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7f) c = ' ';
  }
  return part.size() > kQuotedBytes ? line + "..." : line;
}

}  // namespace

absl::Status ErrorAt(std::string_view text, size_t at, std::string_view message) {
  at = std::min(at, text.size());
  const size_t newline_before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  const size_t begin = newline_before == std::string_view::npos ? 0 : newline_before + 1;
  const size_t newline_after = text.find('\n', at);
  const size_t end = newline_after == std::string_view::npos ? text.size() : newline_after;
  // Long lines are cut before they are converted. A character has at most four bytes.
  const size_t cut_begin = at - begin > 4 * kShownCharacters ? at - 4 * kShownCharacters : begin;
  const size_t cut_end = std::min(end, at + 4 * kShownCharacters);
  const ShownLine shown = Show(text.substr(cut_begin, cut_end - cut_begin), at - cut_begin);

  size_t first = 0;
  const bool is_long = shown.characters.size() > kShownCharacters || cut_begin != begin || cut_end != end;
  if (is_long && shown.place > kCharactersBefore) first = shown.place - kCharactersBefore;
  const size_t last = std::min(shown.characters.size(), first + kShownCharacters);
  std::string line = first > 0 || cut_begin > begin ? "..." : "";
  const size_t caret = line.size() + shown.place - first;
  for (size_t i = first; i < last; ++i) line += shown.characters[i];
  if (last < shown.characters.size() || cut_end < end) line += "...";
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(message), "\n  ", line, "\n  ", std::string(caret, ' '), "^"));
}

std::string Quoted(std::string_view part) { return absl::StrCat("`", OneLine(part), "`"); }

std::string QuotedName(std::string_view name) { return absl::StrCat("'", OneLine(name), "'"); }

}  // namespace penstock::select
