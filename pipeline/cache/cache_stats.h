// The counters of a cache.
#ifndef PENSTOCK_PIPELINE_CACHE_CACHE_STATS_H_
#define PENSTOCK_PIPELINE_CACHE_CACHE_STATS_H_

#include <cstdint>

namespace penstock::cache {

struct CacheStats {
  uint64_t limit = 0;  // bytes; 0: no cache
  uint64_t bytes = 0;  // bytes in use
  uint64_t hits = 0, misses = 0;
  uint64_t served_bytes = 0;  // bytes of hits
  // Thread time that the hits saved: the time of misses, by the measured means of the jobs, minus the time of the hits.
  double saved_seconds = 0;
  bool chosen = false;  // the limit is tuned at run time
};

}  // namespace penstock::cache

#endif  // PENSTOCK_PIPELINE_CACHE_CACHE_STATS_H_
