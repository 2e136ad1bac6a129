// A loader's caches as whoever chooses their sizes sees them.
#ifndef PENSTOCK_PIPELINE_LOADER_CACHE_USE_H_
#define PENSTOCK_PIPELINE_LOADER_CACHE_USE_H_

#include <cstdint>
#include <vector>

#include "pipeline/tuning/cache_sizes.h"

namespace penstock {

struct CacheUse {
  CacheLimits limits;
  CacheSizes now;
  uint64_t bytes = 0;          // of the budget, for rows and caches together
  uint64_t rows_need = 0;      // of these for rows at least: what is reserved, and what had to be given back to them
  uint64_t rows_peak = 0;      // that rows had at once since the last call
  std::vector<CacheJob> jobs;  // `rows` of each: since it was first seen
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_CACHE_USE_H_
