// Decides whether a peer may act for a session, a trace, a support file, a stream or a worker that a peer opened
// before. Every such request is checked here, and no other code compares peers.
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
  // For a support file.
  kFetchSupport,  // fetches the files
  // For a stream.
  kAddLane,  // joins with a further connection
  // For a worker.
  kServe,  // registers again, sends heartbeats, reports, or builds an index for it
};

// A request to act for a session, a trace, a support file, a stream or a worker. A view: its id and its caller must
// outlive it.
struct Claim {
  Act act;
  std::string_view id;  // the id that the request names
  const Peer& caller;
};

// A session, a trace, a support file, a stream or a worker, with its owner. A view, like Claim.
struct Ownership {
  std::string_view id;
  const Peer& owner;  // the peer that opened it
};

// Returns OK if the claim's caller may act for `owned`. Otherwise the error names the object of the claim, the reason
// and the remedy:
//   NotFound          `owned` is null, because nothing has the claim's id
//   InvalidArgument   `owned` has another id
//   PermissionDenied  the caller has another name than the owner, or is another user
// A name counts if this process asks for names (Peer::name). Otherwise an id is a secret of 64 or more random bits. A
// caller that names it is therefore accepted, unless the caller and the owner are processes of this host with different
// users. Addresses do not count, because a client may reconnect from another port or through NAT. For kAddPart, every
// caller that names the id is accepted.
absl::Status MayActFor(const Claim& claim, const Ownership* owned);

// MayActFor, or the rule of a test. Called on any thread. It must not block.
using OwnershipRule = std::function<absl::Status(const Claim& claim, const Ownership* owned)>;

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_OWNERSHIP_H_
