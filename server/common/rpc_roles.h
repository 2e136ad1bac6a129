// The rules of daemons whose callers have names: which role each RPC of the coordinator needs, and that a stream to a
// worker needs a ticket.
#ifndef PENSTOCK_SERVER_COMMON_RPC_ROLES_H_
#define PENSTOCK_SERVER_COMMON_RPC_ROLES_H_

#include <functional>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/runtime/followed_file.h"
#include "net/access/access_list.h"
#include "server/common/rpc_gate.h"
#include "server/tickets/ticket_gate.h"
#include "transport/peer.h"

namespace penstock::server {

// The access list of a daemon, which follows its file.
using LiveAccessList = FollowedFile<net::AccessList>;

// Returns the principal of the peer's token `token` or, if that is "", of the peer's certificate. Unauthenticated:
// the token is unknown, or there is no token and the certificate has no line; the message names the remedy. `daemon`
// stands for this process in messages: "this worker". A token that is unknown is rejected in any case.
absl::StatusOr<net::Principal> PrincipalOf(const net::AccessList& list, std::string_view token,
                                           const transport::Peer& peer, std::string_view daemon);

// Returns a rule for callers over the network. It sets the peer's name, role and jobs.
//   Unauthenticated    as PrincipalOf
//   PermissionDenied   the role may not call the RPC; the message has the name, its role and the roles that may
// Callers in this process and callers that the kernel identifies, which the carrier has checked, pass without a name.
RpcRule RequireRole(std::shared_ptr<const LiveAccessList> list);

// Returns a rule for the streams to a worker, whose credential is a ticket. Its errors are those of TicketGate::Admit.
// Applies `otherwise`, unless it is unset, to peers that need no ticket.
RpcRule RequireTicket(std::shared_ptr<const TicketGate> gate, RpcRule otherwise = nullptr);

// Returns a rule for HTTP requests with a token or a client certificate: viewers and operators may read all pages. It
// sets the client's name and role. Its errors are those of RequireRole.
std::function<absl::Status(std::string_view token, transport::Peer* client)> RequireViewer(
    std::shared_ptr<const LiveAccessList> list);

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_COMMON_RPC_ROLES_H_
