#include "server/peers/call_limits.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock::server {
namespace {

constexpr double kBurstSeconds = 10;

std::string KeyOf(const std::string& who, std::string_view kind) { return (who + " ").append(kind); }

absl::Status TooMany(const std::string& who, uint32_t limit) {
  return absl::UnavailableError(absl::StrCat(who, " makes more than ", limit,
                                             " calls a second, the most that limits.calls_per_second allows; it may "
                                             "try again"));
}

}  // namespace

CallLimits::CallLimits(uint32_t per_second, const Clock* clock)
    : per_second_(per_second),
      clock_(clock),
      hosts_(per_second, per_second * kBurstSeconds),
      names_(per_second, per_second * kBurstSeconds),
      rejections_(per_second, per_second) {}

void CallLimits::DisconnectBy(std::function<void(const std::string& host)> disconnect) {
  MutexLock lock(&mutex_);
  disconnect_ = std::move(disconnect);
}

absl::Status CallLimits::AdmitHost(const transport::Peer& peer, std::string_view kind) {
  const std::string host = peer.Host();
  if (host.empty()) return absl::OkStatus();
  std::function<void(const std::string&)> disconnect;
  {
    MutexLock lock(&mutex_);
    const Nanos now = clock_->Now();
    if (hosts_.Take(KeyOf(host, kind), now)) return absl::OkStatus();
    if (!rejections_.Take(host, now)) disconnect = disconnect_;
  }
  if (disconnect != nullptr) disconnect(host);
  return TooMany(host, per_second_);
}

absl::Status CallLimits::AdmitName(const transport::Peer& peer, std::string_view kind) {
  if (peer.name.empty() || peer.Host().empty()) return absl::OkStatus();
  MutexLock lock(&mutex_);
  if (names_.Take(KeyOf(peer.name, kind), clock_->Now())) return absl::OkStatus();
  return TooMany(absl::StrCat("'", peer.name, "'"), per_second_);
}

}  // namespace penstock::server
