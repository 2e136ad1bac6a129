#include "server/peers/peer_counts.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"

namespace penstock::server {

struct PeerCountsState {
  using Counts = std::map<std::string, uint32_t>;

  Mutex mutex;
  Counts hosts ABSL_GUARDED_BY(mutex), names ABSL_GUARDED_BY(mutex);
};

namespace {

uint32_t CountOf(const PeerCountsState::Counts& counts, const std::string& key) {
  const auto found = counts.find(key);
  return found == counts.end() ? 0 : found->second;
}

void Decrement(PeerCountsState::Counts& counts, const std::string& key) {
  if (key.empty()) return;
  const auto found = counts.find(key);
  if (--found->second == 0) counts.erase(found);
}

absl::Status Full(const std::string& who, uint32_t limit, const char* setting) {
  return absl::ResourceExhaustedError(absl::StrCat(who, " has ", limit, limit == 1 ? " open session" : " open sessions",
                                                   ", the most that ", setting, " allows; close some first"));
}

}  // namespace

PeerCounts::Place& PeerCounts::Place::operator=(Place&& other) noexcept {
  Release();
  of_ = std::move(other.of_);
  host_ = std::move(other.host_);
  name_ = std::move(other.name_);
  return *this;
}

void PeerCounts::Place::Release() {
  const std::shared_ptr<PeerCountsState> of = std::exchange(of_, nullptr);
  if (of == nullptr) return;
  MutexLock lock(&of->mutex);
  Decrement(of->hosts, host_);
  Decrement(of->names, name_);
}

PeerCounts::PeerCounts(const Limits& limits) : limits_(limits), state_(std::make_shared<PeerCountsState>()) {}

absl::StatusOr<PeerCounts::Place> PeerCounts::Take(const transport::Peer& peer) {
  Place place;
  place.host_ = peer.Host();
  if (place.host_.empty()) return place;
  place.name_ = peer.name;
  MutexLock lock(&state_->mutex);
  if (CountOf(state_->hosts, place.host_) >= limits_.per_host) {
    return Full(place.host_, limits_.per_host, "limits.sessions_per_host");
  }
  if (!place.name_.empty() && CountOf(state_->names, place.name_) >= limits_.per_name) {
    return Full(absl::StrCat("'", place.name_, "'"), limits_.per_name, "limits.sessions_per_name");
  }
  ++state_->hosts[place.host_];
  if (!place.name_.empty()) ++state_->names[place.name_];
  place.of_ = state_;
  return place;
}

}  // namespace penstock::server
