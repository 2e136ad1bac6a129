// Keys of tickets, and the revocation of the tickets of a name.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/coordinator/state/coordinator_state.h"

namespace penstock::coordinator {

void CoordinatorState::ApplyTicketFacts(const std::vector<v1::StoreEvent>& facts) {
  for (const v1::StoreEvent& fact : facts) tickets_.Apply(fact, NextId());
}

void CoordinatorState::KeepTicketKeys(Consequences* out) {
  if (ticket_keys_change_) return;
  std::vector<v1::StoreEvent> due = tickets_.Due();
  if (due.empty()) return;
  ticket_keys_change_ = true;
  Change change;
  change.facts = due;
  change.end = [due = std::move(due)](CoordinatorState& state, Nanos, const absl::Status& stored, Effects*,
                                      Consequences* wake) {
    state.ticket_keys_change_ = false;
    if (!stored.ok()) return;  // the next tick tries again
    state.ApplyTicketFacts(due);
    wake->wake_workers = true;
  };
  BeginChange({}, false, std::move(change), out);
}

absl::Status CoordinatorState::Revoke(const v1::RevokeRequest& request, Consequences* out) {
  const std::string& name = request.name();
  if (name.empty() || name.size() > 512) return absl::InvalidArgumentError("revoke: a name has 1 to 512 bytes");
  if (!tickets_.issues()) {
    return absl::FailedPreconditionError(
        "this coordinator issues no tickets, because its callers have no names: it has no --tokens");
  }
  if (!tickets_.HasRoom(name)) {
    return absl::ResourceExhaustedError(absl::StrCat("there are ", tickets_.options().most_revocations,
                                                     " revocations already; each ends after the lifetime of a ticket"));
  }
  Change change;
  v1::Revocation* const revocation = change.facts.emplace_back().mutable_put_revocation();
  revocation->set_name(name);
  revocation->set_until(tickets_.now());
  change.end = [name, fact = change.facts[0]](CoordinatorState& state, Nanos, const absl::Status& stored,
                                              Effects* effects, Consequences* wake) {
    if (!stored.ok()) return;
    // Tickets may have been issued while the revocation was stored.
    v1::StoreEvent applied = fact;
    applied.mutable_put_revocation()->set_until(state.tickets_.now());
    state.ApplyTicketFacts({applied});
    wake->hints.push_back(applied);
    v1::RevokeReply reply;
    reply.set_sessions(static_cast<uint32_t>(state.sessions_.CloseOf(name)));
    reply.set_may_return(state.tickets_.options().is_known(name));
    effects->reply = reply;
    wake->wake_workers = true;
  };
  BeginChange({}, false, std::move(change), out);
  return absl::OkStatus();
}

}  // namespace penstock::coordinator
