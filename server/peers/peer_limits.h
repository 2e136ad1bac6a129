// All limits for one peer of a daemon (v1::LimitsConfig).
#ifndef PENSTOCK_SERVER_PEERS_PEER_LIMITS_H_
#define PENSTOCK_SERVER_PEERS_PEER_LIMITS_H_

#include <cstdint>
#include <functional>

#include "base/runtime/clock.h"
#include "net/front_door/connection_table.h"
#include "server/peers/peer_counts.h"

namespace penstock::server {

struct PeerLimits {
  net::ConnectionLimits connections = {};
  uint32_t calls_per_second = 2000;
  PeerCounts::Limits sessions = {};
  uint64_t memory_bytes = UINT64_MAX;
  Nanos unread_time = 10 * kSecond;
  uint32_t socket_streams_per_user = 64;
};

// Returns a function for net::FrontDoorOptions: whether the process has more than `bytes` of its own memory, after it
// has returned free memory to the system, which it does at most every 5 s.
std::function<bool()> HasMoreThan(uint64_t bytes);

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_PEERS_PEER_LIMITS_H_
