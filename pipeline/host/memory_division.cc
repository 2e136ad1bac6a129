#include "pipeline/host/memory_division.h"

#include <algorithm>

namespace penstock::host {
namespace {

constexpr uint64_t kMostQueueBytes = uint64_t{16} << 20;
// Limits of shared memory for one client of this host, and for all: enough to make rows in one part while clients read
// another.
constexpr uint64_t kMostRingBytes = uint64_t{32} << 20;
constexpr uint64_t kMostRingsBytes = uint64_t{512} << 20;

}  // namespace

MemoryDivision DivideMemory(const MemoryNeeds& needs) {
  MemoryDivision parts;
  parts.loader = needs.budget_bytes;
  if (needs.disk_cache) {
    parts.disk_index = needs.budget_bytes / 64;
    parts.disk_queue = std::min(needs.budget_bytes / 32, kMostQueueBytes);
    parts.loader -= parts.disk_index + parts.disk_queue;
  }
  if (needs.rings) {
    const uint64_t beside_caches = parts.loader - std::min(parts.loader, needs.cache_bytes);
    parts.rings = std::min({parts.loader / 8, beside_caches / 4, kMostRingsBytes});
    parts.ring = std::min(parts.rings / 4, kMostRingBytes);
    parts.loader -= parts.rings;
  }
  return parts;
}

}  // namespace penstock::host
