#include "client/cli/command.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_mark.h"

namespace penstock::cli {
namespace {
constexpr char kUsageMark[] = "penstock.usage";
}  // namespace

absl::Status UsageError(std::string message) { return Marked(kUsageMark, absl::InvalidArgumentError(message)); }

bool IsUsageError(const absl::Status& status) { return HasMark(status, kUsageMark); }

absl::StatusOr<std::string> OneArgument(const std::vector<std::string>& arguments, const std::string& what) {
  if (arguments.empty()) return UsageError(absl::StrCat(what, " is missing"));
  if (arguments.size() > 1) {
    return UsageError(absl::StrCat("one ", what, " is expected, not ", arguments.size(), ": ",
                                   absl::StrJoin(arguments, " "), " (quote a glob so that the shell leaves it alone)"));
  }
  return arguments[0];
}

}  // namespace penstock::cli
