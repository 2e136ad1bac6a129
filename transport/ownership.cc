#include "transport/ownership.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace penstock::transport {
namespace {

// Digits of an id that messages show. The whole id is a secret.
constexpr size_t kLabelDigits = 8;

std::string NameOf(Act act, std::string_view id) {
  const std::string label(id.substr(0, kLabelDigits));
  switch (act) {
    case Act::kReport:
    case Act::kJudge:
    case Act::kClose:
    case Act::kTakeOver:
      return absl::StrCat("session ", label);
    case Act::kAddPart:
    case Act::kFetch:
      return absl::StrCat("trace ", label);
    case Act::kFetchSupport:
      return absl::StrCat("support file ", label);
    case Act::kAddLane:
      return absl::StrCat("stream ", label);
    case Act::kServe:
      return absl::StrCat("worker ", label);
  }
  return label;
}

std::string MissingBecause(Act act) {
  switch (act) {
    case Act::kReport:
    case Act::kJudge:
    case Act::kClose:
    case Act::kTakeOver:
      return "it was closed, it expired, or the coordinator has restarted. Open a session again";
    case Act::kAddPart:
    case Act::kFetch:
      return "it was fetched, no client fetched it for a minute, or the coordinator has restarted. Start `penstock "
             "trace` again";
    case Act::kFetchSupport:
      return "it was fetched, or the coordinator has restarted. Start `penstock support` again";
    case Act::kAddLane:
      return "it has ended, or the worker has restarted. Open the stream again";
    case Act::kServe:
      return "it has not registered since the coordinator started. Register it again";
  }
  return "";
}

// Returns "alice at 10.0.0.7:5123", or the peer's text if it has no name.
std::string TextOf(const Peer& peer) {
  return peer.name.empty() ? peer.ToString() : absl::StrCat(peer.name, " at ", peer.ToString());
}

// Returns false if the peers cannot be the same. A name is proved by a token or a certificate. The kernel reports the
// user of a process on this host; pids are not compared, because a restarted process has another one. Other peers have
// no reliable name.
bool MayBeSame(const Peer& owner, const Peer& caller) {
  if (owner.name != caller.name) return false;
  if (owner.kind == Peer::Kind::kHost && caller.kind == Peer::Kind::kHost) return owner.uid == caller.uid;
  return true;
}

}  // namespace

absl::Status MayActFor(const Claim& claim, const Ownership* owned) {
  if (owned == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("there is no ", NameOf(claim.act, claim.id), ": ", MissingBecause(claim.act)));
  }
  if (owned->id != claim.id) {
    return absl::InvalidArgumentError(absl::StrCat("a request for ", NameOf(claim.act, owned->id), " names ",
                                                   NameOf(claim.act, claim.id), ": it must name the same one"));
  }
  // A process that adds its part to a trace has not opened the trace.
  if (claim.act == Act::kAddPart) return absl::OkStatus();
  if (!MayBeSame(owned->owner, claim.caller)) {
    return absl::PermissionDeniedError(absl::StrCat(
        NameOf(claim.act, claim.id), " belongs to ", TextOf(owned->owner), ", and this request comes from ",
        TextOf(claim.caller), ": act as the ", owned->owner.name.empty() ? "user" : "name", " that opened it"));
  }
  return absl::OkStatus();
}

}  // namespace penstock::transport
