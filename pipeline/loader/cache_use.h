// A loader's caches and memory, for the choice of cache sizes, and what a purge frees of them.
#ifndef PENSTOCK_PIPELINE_LOADER_CACHE_USE_H_
#define PENSTOCK_PIPELINE_LOADER_CACHE_USE_H_

#include <cstdint>
#include <vector>

#include "pipeline/tuning/cache_sizes.h"

namespace penstock::loader {

// Bytes that a purge of a job freed.
struct PurgedCaches {
  uint64_t memory = 0, disk = 0;
};

struct CacheUse {
  tuning::CacheLimits limits;
  tuning::CacheSizes now;
  uint64_t bytes = 0;      // budget for rows and caches together
  uint64_t rows_need = 0;  // bytes that rows must keep: the larger of reserves and LoaderCaches::rows_need()
  uint64_t rows_peak = 0;  // most bytes that rows used since the previous CacheUse
  std::vector<tuning::CacheJob> jobs;  // `rows` of each counts from its first session on
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_CACHE_USE_H_
