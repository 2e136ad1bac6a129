// Limits the sessions or streams that each host and each name has open at once.
#ifndef PENSTOCK_SERVER_PEERS_PEER_COUNTS_H_
#define PENSTOCK_SERVER_PEERS_PEER_COUNTS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "transport/peer.h"

namespace penstock::server {

// Thread-safe.
class PeerCounts {
 public:
  struct Limits {
    uint32_t per_host = 4096;
    uint32_t per_name = 16384;
  };

  // One open session. Its destruction releases the place. May outlive the PeerCounts.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept = default;
    Place& operator=(Place&& other) noexcept;
    ~Place() { Release(); }

   private:
    friend class PeerCounts;
    void Release();

    std::shared_ptr<struct PeerCountsState> of_;  // null: none
    std::string host_, name_;
  };

  explicit PeerCounts(const Limits& limits);

  // Returns a place for one more session of the peer. ResourceExhausted: its host or its name has as many as it may;
  // the message names the limit. Peers without Host() have no limit.
  absl::StatusOr<Place> Take(const transport::Peer& peer);

 private:
  const Limits limits_;
  const std::shared_ptr<struct PeerCountsState> state_;
};

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_PEERS_PEER_COUNTS_H_
