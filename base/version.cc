#include "base/version.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

std::string Describe(const Release& release) {
  if (release.protocols == Protocols()) {
    return absl::StrCat("penstock ", release.version.empty() ? "0.2 or older" : release.version,
                        ", which sends no protocol numbers");
  }
  return absl::StrCat("penstock ", release.version, " with protocol ", release.protocols.ToString());
}

}  // namespace

std::string_view Version() { return PENSTOCK_VERSION; }

std::string Protocols::ToString() const {
  return oldest == newest ? absl::StrCat(newest) : absl::StrCat(oldest, " to ", newest);
}

Release ThisRelease() { return {std::string(Version()), kProtocols}; }

absl::StatusOr<uint32_t> CommonProtocol(std::string_view who, const Release& theirs, std::string_view here) {
  const uint32_t newest = std::min(theirs.protocols.newest, kProtocols.newest);
  if (theirs.protocols.oldest <= newest && kProtocols.oldest <= newest) return newest;
  const bool they_are_older = theirs.protocols.newest < kProtocols.oldest;
  return absl::FailedPreconditionError(absl::StrCat(
      std::string(who), " is ", Describe(theirs), "; ", std::string(here), " is ", Describe(ThisRelease()),
      ": upgrade ", std::string(they_are_older ? who : here), ", at most one release at a time (docs/upgrading.md)"));
}

}  // namespace penstock
