#include "net/call_release.h"

#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace penstock::net {
namespace {

constexpr char kRelease[] = "penstock-release";
constexpr char kProtocolRange[] = "penstock-protocols";
constexpr size_t kMaxVersionBytes = 32;

std::string Range() { return absl::StrCat(kProtocols.oldest, "-", kProtocols.newest); }

// Returns the first value of `key`, or "".
absl::string_view Value(const CallMetadata& metadata, const char* key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? absl::string_view() : absl::string_view(found->second.data(), found->second.size());
}

}  // namespace

void AddRelease(grpc::ClientContext* context) {
  context->AddMetadata(kRelease, std::string(Version()));
  context->AddMetadata(kProtocolRange, Range());
}

void AddRelease(grpc::ServerContextBase* context) {
  context->AddInitialMetadata(kRelease, std::string(Version()));
  context->AddInitialMetadata(kProtocolRange, Range());
}

Release ReleaseIn(const CallMetadata& metadata) {
  const absl::string_view range = Value(metadata, kProtocolRange);
  const size_t dash = range.find('-');
  Protocols protocols;
  if (dash == range.npos || !absl::SimpleAtoi(range.substr(0, dash), &protocols.oldest) ||
      !absl::SimpleAtoi(range.substr(dash + 1), &protocols.newest) || protocols.oldest > protocols.newest) {
    return {};
  }
  return {std::string(Value(metadata, kRelease).substr(0, kMaxVersionBytes)), protocols};
}

}  // namespace penstock::net
