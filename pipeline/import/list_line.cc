#include "pipeline/import/list_line.h"

#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"

namespace penstock::imports {
namespace {

bool IsLabel(std::string_view word, const LabelNames* labels) {
  int64_t number = 0;
  return absl::SimpleAtoi(absl::string_view(word.data(), word.size()), &number) ||
         (labels != nullptr && labels->find(word) != labels->end());
}

std::string_view Bare(std::string_view text) {
  const absl::string_view stripped = absl::StripAsciiWhitespace(absl::string_view(text.data(), text.size()));
  text = {stripped.data(), stripped.size()};
  if (text.size() > 1 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  return text;
}

}  // namespace

bool SplitListLine(std::string_view line, const LabelNames* labels, std::string_view* path, std::string_view* label) {
  const bool blank = SplitLastWord(line, path, label);
  // "b.jpg, 3" contains both separators. The comma ends the path.
  if (blank && IsLabel(*label, labels) && (path->empty() || path->back() != ',')) return true;
  const size_t comma = line.rfind(',');
  if (comma == std::string_view::npos) return blank;
  const std::string_view before = Bare(line.substr(0, comma)), behind = Bare(line.substr(comma + 1));
  // Neither split gives a label, so the split at the last separator is the one for the error message.
  if (blank && !IsLabel(behind, labels) && behind.find_first_of(" \t") != std::string_view::npos) return true;
  *path = before;
  *label = behind;
  return !before.empty() && !behind.empty();
}

}  // namespace penstock::imports
