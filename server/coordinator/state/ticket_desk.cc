#include "server/coordinator/state/ticket_desk.h"

#include <iterator>
#include <utility>

#include "absl/strings/escaping.h"
#include "server/tickets/ticket.h"

namespace penstock::coordinator {

std::vector<v1::StoreEvent> TicketDesk::Due() const {
  std::vector<v1::StoreEvent> due;
  if (!options_.issue) return due;
  const int64_t now = options_.now();
  if (keys_.empty() || now - keys_.rbegin()->first >= options_.replace_key_after) {
    v1::StoredTicketKey* const key = due.emplace_back().mutable_put_ticket_key();
    key->set_signing_key(options_.new_key());
    key->set_name(absl::BytesToHexString(server::PublicKeyOf(key->signing_key())));
    key->set_created(now);
  }
  // A key signs until its successor has settled.
  for (auto key = keys_.begin(); key != keys_.end() && std::next(key) != keys_.end(); ++key) {
    const int64_t last_signed = std::next(key)->first + options_.key_settles_in;
    if (now > last_signed + options_.lifetime) due.emplace_back().set_delete_ticket_key(key->second.name());
  }
  for (const auto& [name, until] : revoked_until_) {
    if (now > until + options_.lifetime) due.emplace_back().set_delete_revocation(name);
  }
  return due;
}

void TicketDesk::Apply(const v1::StoreEvent& fact, uint64_t version) {
  if (fact.has_put_ticket_key()) {
    keys_[fact.put_ticket_key().created()] = fact.put_ticket_key();
  } else if (fact.has_delete_ticket_key()) {
    std::erase_if(keys_, [&](const auto& key) { return key.second.name() == fact.delete_ticket_key(); });
  } else if (fact.has_put_revocation()) {
    revoked_until_[fact.put_revocation().name()] = fact.put_revocation().until();
  } else if (fact.has_delete_revocation()) {
    revoked_until_.erase(fact.delete_revocation());
  } else {
    return;
  }
  if (!options_.issue) return;
  rules_.Clear();
  rules_.set_version(version);
  for (const auto& [created, key] : keys_) rules_.add_keys(server::PublicKeyOf(key.signing_key()));
  for (const auto& [name, until] : revoked_until_) {
    v1::Revocation* const revocation = rules_.add_revocations();
    revocation->set_name(name);
    revocation->set_until(until);
  }
}

const v1::StoredTicketKey* TicketDesk::SigningKey() const {
  if (keys_.empty()) return nullptr;
  const int64_t now = options_.now();
  for (auto key = keys_.rbegin(); key != keys_.rend(); ++key) {
    if (now - key->first >= options_.key_settles_in) return &key->second;
  }
  return &keys_.begin()->second;
}

std::string TicketDesk::Issue(const std::string& name, const std::string& job) const {
  const v1::StoredTicketKey* const key = SigningKey();
  if (!options_.issue || name.empty() || key == nullptr) return "";
  v1::TicketClaims claims;
  claims.set_name(name);
  claims.set_job(job);
  claims.set_issued(options_.now());
  claims.set_expires(claims.issued() + options_.lifetime);
  return server::SignTicket(claims, key->signing_key());
}

bool TicketDesk::NeedsNew(const std::string& name, int64_t issued) const {
  if (!options_.issue || name.empty()) return false;
  const auto revoked = revoked_until_.find(name);
  return options_.now() - issued >= options_.lifetime / 2 ||
         (revoked != revoked_until_.end() && issued <= revoked->second);
}

bool TicketDesk::HasRoom(const std::string& name) const {
  return revoked_until_.size() < options_.most_revocations || revoked_until_.contains(name);
}

}  // namespace penstock::coordinator
