#include "base/version.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace penstock {
std::string_view Version() { return PENSTOCK_VERSION; }

std::string Protocols::ToString() const {
  return oldest == newest ? absl::StrCat(newest) : absl::StrCat(oldest, " to ", newest);
}

std::string Release::ToString() const {
  if (protocols == Protocols()) {
    return absl::StrCat("penstock ", version.empty() ? "0.2 or older" : version, ", which sends no protocol numbers");
  }
  return absl::StrCat("penstock ", version, " with protocol ", protocols.ToString());
}

Release ThisRelease() { return {std::string(Version()), kProtocols}; }

absl::StatusOr<uint32_t> CommonProtocol(std::string_view who, const Release& theirs, std::string_view here) {
  const uint32_t newest = std::min(theirs.protocols.newest, kProtocols.newest);
  if (theirs.protocols.oldest <= newest && kProtocols.oldest <= newest) return newest;
  const bool they_are_older = theirs.protocols.newest < kProtocols.oldest;
  return absl::FailedPreconditionError(absl::StrCat(
      std::string(who), " is ", theirs.ToString(), "; ", std::string(here), " is ", ThisRelease().ToString(),
      ": upgrade ", std::string(they_are_older ? who : here), ", at most one release at a time (docs/upgrading.md)"));
}

}  // namespace penstock
