#include "config/manual/value_hint.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace penstock::config {
namespace {

ValueKind KindOf(absl::string_view name) {
  if (absl::StrContains(name, '.')) return ValueKind::kFile;  // JOB.textproto
  if (name == "FILE" || name == "GLOB" || name == "SOURCE") return ValueKind::kFile;
  if (name == "DIR" || name == "FOLDER" || name == "[NAME=]DIR") return ValueKind::kFolder;
  if (name == "JOB") return ValueKind::kJob;
  if (name == "WORKER") return ValueKind::kWorker;
  return ValueKind::kUnknown;
}

bool IsWord(absl::string_view name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) { return absl::ascii_islower(c) || c == '-'; });
}

}  // namespace

ValueHint HintOf(std::string_view value_name) {
  ValueHint hint;
  for (const absl::string_view name : absl::StrSplit(absl::string_view(value_name.data(), value_name.size()), '|')) {
    if (IsWord(name)) hint.words.emplace_back(name);
    if (hint.kind == ValueKind::kUnknown) hint.kind = KindOf(name);
  }
  return hint;
}

ArgumentHints HintsOfArguments(std::string_view arguments) {
  ArgumentHints all;
  for (absl::string_view part : absl::StrSplit(absl::string_view(arguments.data(), arguments.size()), ' ')) {
    if (part == "[flags]" || absl::StartsWith(part, "--") || absl::StartsWith(part, "[--")) break;
    part = part.substr(0, part.find("|--"));  // "JOB...|--ended"
    if (absl::ConsumePrefix(&part, "[")) absl::ConsumeSuffix(&part, "]");
    all.repeats = absl::ConsumeSuffix(&part, "...");
    all.names.emplace_back(part);
    all.hints.push_back(HintOf({part.data(), part.size()}));
  }
  return all;
}

}  // namespace penstock::config
