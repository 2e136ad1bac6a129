#include "base/version.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// Returns "0.2" for "0.2.0", and "" for an invalid version.
std::string_view FirstTwo(std::string_view version) {
  const size_t first = version.find('.');
  if (first == std::string_view::npos) return {};
  return version.substr(0, version.find('.', first + 1));
}

}  // namespace

std::string_view Version() { return PENSTOCK_VERSION; }

absl::Status CheckRelease(std::string_view who, std::string_view theirs, std::string_view here) {
  if (!FirstTwo(theirs).empty() && FirstTwo(theirs) == FirstTwo(Version())) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(std::string(who), " is penstock ", theirs.empty() ? "0.1 or older" : std::string(theirs), ", and ",
                   std::string(here), " is penstock ", std::string(Version()), ": run one release everywhere"));
}

}  // namespace penstock
