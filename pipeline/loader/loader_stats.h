// What a loader has done, in numbers.
#ifndef PENSTOCK_PIPELINE_LOADER_LOADER_STATS_H_
#define PENSTOCK_PIPELINE_LOADER_LOADER_STATS_H_

#include <cstdint>

namespace penstock {

struct LoaderStats {
  uint64_t rows = 0;         // made, since start
  uint64_t failed_rows = 0;  // failed, masked or substituted
  uint64_t bytes_read = 0;   // from storage
  double read_seconds = 0;   // sums over threads
  double compute_seconds = 0;
  double cpu_seconds = 0;  // CPU time of the loader's threads
  // The time in which rows were there to be made and nothing kept them waiting. busy_seconds counts a moment by the
  // part of the threads that had one: rows / busy_seconds is what this loader can make in a second. A process that is
  // stopped or has no CPU is slow, one whose rows nobody takes is not.
  double busy_seconds = 0;
  double owing_seconds = 0;   // at least one thread had a row
  uint64_t memory_bytes = 0;  // of the budget, taken now (caches, grabs, reserves in use)
  uint64_t memory_peak_bytes = 0;
  uint64_t record_cache_bytes = 0, record_cache_hits = 0, record_cache_misses = 0;
  uint64_t decoded_cache_bytes = 0, decoded_cache_hits = 0, decoded_cache_misses = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_LOADER_STATS_H_
