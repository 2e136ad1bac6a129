// Decides whether a peer may act for a session, a trace or a stream that a peer opened before. Each place that acts for
// one asks here, and nowhere else are peers compared.
#ifndef PENSTOCK_TRANSPORT_OWNERSHIP_H_
#define PENSTOCK_TRANSPORT_OWNERSHIP_H_

#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "transport/peer.h"

namespace penstock::transport {

enum class Act {
  // For a session.
  kReport,    // reports its progress
  kJudge,     // asks about damaged records of its job
  kClose,     // closes it
  kTakeOver,  // opens its rank again: after a lost reply, or as the same process
  // For a trace.
  kAddPart,  // adds the recording of a process that takes part
  kFetch,    // fetches the recordings
  // For a stream.
  kAddLane,  // joins with a further connection
};

// A request that acts for something. A view: what it refers to must outlive it.
struct Claim {
  Act act;
  std::string_view id;  // the id that the request names
  const Peer& caller;
};

// A session, a trace or a stream, with its owner. A view, too.
struct Ownership {
  std::string_view id;
  const Peer& owner;  // the peer that opened it
};

// Returns OK if the claim's caller may act for `owned`. Otherwise the error names the session, trace or stream, the
// reason and the remedy:
//   NotFound          `owned` is null, because nothing has the claim's id
//   InvalidArgument   `owned` has another id
//   PermissionDenied  the caller is known not to be the owner
// An id is a secret of 64 or more random bits, so a caller that names it is accepted unless the peers contradict that.
// An address contradicts nothing: a client reconnects from another port, and crosses NAT.
absl::Status MayActFor(const Claim& claim, const Ownership* owned);

// MayActFor, or the rule of a test. Called on any thread. It must not block.
using OwnershipRule = std::function<absl::Status(const Claim& claim, const Ownership* owned)>;

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_OWNERSHIP_H_
