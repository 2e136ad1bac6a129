#include "server/peers/peer_limits.h"

#include "base/heap.h"
#include "base/runtime/clock.h"

namespace penstock::server {
namespace {

constexpr Nanos kReleasePause = 5 * kSecond;  // a release takes up to some hundred milliseconds of CPU time

}  // namespace

std::function<bool()> HasMoreThan(uint64_t bytes) {
  return [bytes, next_release = Nanos{0}]() mutable {
    if (OwnMemory() <= bytes) return false;
    const Nanos now = Clock::Real()->Now();
    if (now < next_release) return true;
    ReleaseFreedMemory();
    next_release = now + kReleasePause;
    return OwnMemory() > bytes;
  };
}

}  // namespace penstock::server
