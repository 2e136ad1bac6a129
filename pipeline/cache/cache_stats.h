// What a cache has and has given, in numbers.
#ifndef PENSTOCK_PIPELINE_CACHE_CACHE_STATS_H_
#define PENSTOCK_PIPELINE_CACHE_CACHE_STATS_H_

#include <cstdint>

namespace penstock {

struct CacheStats {
  uint64_t limit = 0;  // bytes; 0: there is none
  uint64_t bytes = 0;  // held
  uint64_t hits = 0, misses = 0;
  uint64_t served_bytes = 0;  // of hits
  // What its hits would have taken otherwise, by the measured means of their jobs, less what they took. Sums over
  // threads.
  double saved_seconds = 0;
  bool chosen = false;  // the limit is found while rows are made
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_CACHE_CACHE_STATS_H_
