// Issues tickets: the signing keys, their replacement, and the revocations.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_TICKET_DESK_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_TICKET_DESK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/v1/store.pb.h"

namespace penstock::coordinator {

// Times are microseconds, and points in time are since 1970-01-01 UTC, as in tickets.
struct TicketOptions {
  bool issue = false;                    // false: there are no tickets, new keys or rules
  std::function<int64_t()> now;          // the time
  std::function<std::string()> new_key;  // returns a new signing key (server/tickets/ticket.h)
  // Returns whether the name can still prove itself to this coordinator, for RevokeReply.
  std::function<bool(const std::string& name)> is_known = [](const std::string&) { return true; };
  int64_t lifetime = int64_t{24} * 3600 * 1'000'000;
  int64_t replace_key_after = int64_t{7} * 24 * 3600 * 1'000'000;
  // A new key signs only after this time, so that the workers know it before. The first key signs at once.
  int64_t key_settles_in = 60 * int64_t{1'000'000};
  size_t most_revocations = 4096;
};

// Pure: the caller stores the facts, and then calls Apply with each. Not thread-safe.
class TicketDesk {
 public:
  explicit TicketDesk(TicketOptions options) : options_(std::move(options)) {}

  bool issues() const { return options_.issue; }
  int64_t now() const { return options_.now(); }

  // Returns the facts to store for the present time: a first key, a key that replaces an old one, and deletions of keys
  // and revocations that no valid ticket needs. Usually none.
  std::vector<v1::StoreEvent> Due() const;
  // Applies a stored fact about keys or revocations. Ignores other facts. `version` is that of the new rules.
  void Apply(const v1::StoreEvent& fact, uint64_t version);

  // Returns a ticket, or "" if there are no tickets, there is no key yet, or `name` is empty.
  std::string Issue(const std::string& name, const std::string& job) const;
  // Returns whether half of the lifetime of a ticket that was issued at `issued` is over, or the ticket was revoked.
  bool NeedsNew(const std::string& name, int64_t issued) const;

  // Returns what workers need, without keys if there are no tickets.
  const v1::TicketRules& rules() const { return rules_; }
  // Returns whether there is room for a revocation of `name`. A name that is revoked already needs no room.
  bool HasRoom(const std::string& name) const;
  const TicketOptions& options() const { return options_; }

 private:
  // Returns the newest key that has settled, or the oldest one. Null: there is none.
  const v1::StoredTicketKey* SigningKey() const;

  const TicketOptions options_;
  std::map<int64_t, v1::StoredTicketKey> keys_;   // by creation
  std::map<std::string, int64_t> revoked_until_;  // by name
  v1::TicketRules rules_;
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_TICKET_DESK_H_
