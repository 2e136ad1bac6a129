#include "server/common/rpc_roles.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace penstock::server {
namespace {

// Returns OK if the principal has one of the roles, or is an operator. `what` names the RPC or page in messages.
absl::Status CheckRole(const net::Principal& principal, unsigned roles, const std::string& what) {
  unsigned needed = roles | static_cast<unsigned>(net::Role::kOperator);
  if ((roles & static_cast<unsigned>(net::Role::kTrainer)) != 0) needed |= static_cast<unsigned>(net::Role::kSubmitter);
  if ((needed & static_cast<unsigned>(principal.role)) != 0) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("'", principal.name, "' has the role ",
                                                  std::string(net::RoleName(principal.role)), ", and ", what,
                                                  " needs the role ", net::RoleNames(needed), ": use a token with it"));
}

// Also for the logs of a rejected call.
void SetName(const net::Principal& principal, transport::Peer* peer) {
  peer->name = principal.name;
  peer->role = std::string(net::RoleName(principal.role));
}

std::string MethodOf(const RpcLine& rpc) { return std::string(rpc.method.substr(rpc.method.rfind('/') + 1)); }

}  // namespace

absl::StatusOr<net::Principal> PrincipalOf(const net::AccessList& list, std::string_view token,
                                           const transport::Peer& peer, std::string_view daemon) {
  const std::string here(daemon);
  if (!token.empty()) {
    if (const net::Principal* const found = list.OfToken(token)) return *found;
    return absl::UnauthenticatedError(absl::StrCat(
        here, " does not know the caller's token: it may have been removed; ask an operator for a new one"));
  }
  if (const net::Principal* const found = list.OfCertificate(peer.certificate_names)) return *found;
  if (peer.has_certificate) {
    return absl::UnauthenticatedError(absl::StrCat(
        here, " has no line for the names in the caller's certificate (",
        peer.certificate_names.empty() ? "it has none" : absl::StrJoin(peer.certificate_names, ", "),
        "): add a line san:NAME to its file of --tokens, or use a token with --token-file (PENSTOCK_TOKEN_FILE)"));
  }
  return absl::UnauthenticatedError(
      absl::StrCat(here,
                   " accepts only callers with a token or a certificate: name the token's file with --token-file "
                   "(PENSTOCK_TOKEN_FILE)"));
}

RpcRule RequireRole(std::shared_ptr<const LiveAccessList> list) {
  return [list = std::move(list)](const RpcLine& rpc, std::string_view token, transport::Peer* peer) -> absl::Status {
    if (peer->kind != transport::Peer::Kind::kNetwork) return absl::OkStatus();
    PS_ASSIGN_OR_RETURN(net::Principal principal, PrincipalOf(*list->current(), token, *peer, DaemonOf(rpc)));
    SetName(principal, peer);
    PS_RETURN_IF_ERROR(CheckRole(principal, rpc.roles, MethodOf(rpc)));
    peer->only_own = principal.role == net::Role::kSubmitter;
    if (principal.role == net::Role::kTrainer || peer->only_own) peer->jobs = std::move(principal.jobs);
    return absl::OkStatus();
  };
}

RpcRule RequireTicket(std::shared_ptr<const TicketGate> gate, RpcRule otherwise) {
  return [gate = std::move(gate), otherwise = std::move(otherwise)](const RpcLine& rpc, std::string_view ticket,
                                                                    transport::Peer* peer) {
    if (otherwise != nullptr && !gate->Needs(*peer)) return otherwise(rpc, ticket, peer);
    return gate->Admit(ticket, peer);
  };
}

std::function<absl::Status(std::string_view token, transport::Peer* client)> RequireViewer(
    std::shared_ptr<const LiveAccessList> list) {
  return [list = std::move(list)](std::string_view token, transport::Peer* client) -> absl::Status {
    if (token.empty() && !client->has_certificate) {
      return absl::UnauthenticatedError("this page needs a token of a viewer in the field Authorization: Bearer TOKEN");
    }
    PS_ASSIGN_OR_RETURN(const net::Principal principal, PrincipalOf(*list->current(), token, *client, "this daemon"));
    SetName(principal, client);
    return CheckRole(principal, static_cast<unsigned>(net::Role::kViewer), "this page");
  };
}

}  // namespace penstock::server
