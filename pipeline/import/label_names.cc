#include "pipeline/import/label_names.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace penstock::imports {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace

bool SplitLastWord(std::string_view line, std::string_view* left, std::string_view* right) {
  line = Trimmed(line);
  size_t at = line.rfind('\t');
  if (at == std::string_view::npos) at = line.rfind(' ');
  if (at == std::string_view::npos) return false;
  *left = Trimmed(line.substr(0, at));
  *right = Trimmed(line.substr(at + 1));
  return true;
}

absl::StatusOr<LabelNames> ReadLabelNames(storage::Storage* storage, const std::string& path) {
  PS_ASSIGN_OR_RETURN(const std::string text, storage::ReadContent(storage, path, uint64_t{1} << 30));
  LabelNames names;
  uint64_t number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const std::string_view trimmed = Trimmed({line.data(), line.size()});
    if (trimmed.empty()) continue;
    std::string_view name, value;
    int64_t label = 0;
    if (!SplitLastWord(trimmed, &name, &value) || !absl::SimpleAtoi({value.data(), value.size()}, &label)) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", number, ": '", std::string(trimmed), "' is not \"name<TAB or space>number\""));
    }
    if (const auto [it, added] = names.emplace(name, label); !added && it->second != label) {
      return absl::InvalidArgumentError(absl::StrCat(path, ":", number, ": '", std::string(name), "' has the number ",
                                                     it->second, " above and ", label, " here"));
    }
  }
  if (names.empty()) return absl::InvalidArgumentError(absl::StrCat(path, " holds no names"));
  return names;
}

std::string LabelNamesText(const LabelNames& names) {
  std::vector<std::pair<int64_t, std::string_view>> by_number;
  for (const auto& [name, number] : names) by_number.emplace_back(number, name);
  std::sort(by_number.begin(), by_number.end());
  std::string text;
  for (const auto& [number, name] : by_number) absl::StrAppend(&text, std::string(name), "\t", number, "\n");
  return text;
}

}  // namespace penstock::imports
