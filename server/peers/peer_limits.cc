#include "server/peers/peer_limits.h"

#include "base/heap.h"

namespace penstock::server {

std::function<bool()> HasMoreThan(uint64_t bytes) {
  return [bytes] {
    if (OwnMemory() <= bytes) return false;
    ReleaseFreedMemory();
    return OwnMemory() > bytes;
  };
}

}  // namespace penstock::server
