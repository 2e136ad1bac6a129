#include "pipeline/records/json_path.h"

#include "absl/strings/str_cat.h"
#include "pipeline/records/json_fields.h"

namespace penstock::records {

absl::StatusOr<std::vector<std::string>> SplitJsonPath(std::string_view path) {
  std::vector<std::string> names(1);
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '.') {
      names.emplace_back();
      continue;
    }
    if (path[i] == '\\' && (++i == path.size() || (path[i] != '.' && path[i] != '\\'))) {
      return absl::InvalidArgumentError(
          "is no JSON path: a backslash stands before a dot or a backslash of a name; in a job file, write it twice");
    }
    names.back() += path[i];
  }
  if (names.size() > kMaxJsonDepth) {
    return absl::InvalidArgumentError(absl::StrCat("is no JSON path: it has more than ", kMaxJsonDepth, " names"));
  }
  return names;
}

std::string JoinJsonPath(std::string_view path, std::string_view name) {
  std::string out(path);
  if (!out.empty()) out += '.';
  for (const char c : name) {
    if (c == '.' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace penstock::records
