// What a loader has done, in numbers.
#ifndef PENSTOCK_PIPELINE_LOADER_LOADER_STATS_H_
#define PENSTOCK_PIPELINE_LOADER_LOADER_STATS_H_

#include <cstdint>

#include "pipeline/cache/cache_stats.h"

namespace penstock {

struct LoaderStats {
  uint64_t rows = 0;         // made, since start
  uint64_t failed_rows = 0;  // failed, masked or substituted
  uint64_t bytes_read = 0;   // from storage
  double read_seconds = 0;   // sums over threads
  // Records that storage was asked for, and what it took to answer, on whatever thread.
  uint64_t storage_reads = 0;
  double storage_seconds = 0;
  // Of storage that does not answer at once: reads that it was asked for, of records and of ranges of them, the bytes
  // that came, and those of them that were records of rows. All as they are stored, without frames' bytes in the last.
  uint64_t remote_requests = 0, remote_bytes = 0, remote_used_bytes = 0;
  uint64_t remote_hedges = 0;  // that this process asked object storage for a second time, because the first was late
  double compute_seconds = 0;
  double cpu_seconds = 0;  // CPU time of the loader's threads
  // The time in which rows were there to be made and nothing kept them waiting. busy_seconds counts a moment by the
  // part of the threads that had one: rows / busy_seconds is what this loader can make in a second. A process that is
  // stopped or has no CPU is slow, one whose rows nobody takes is not.
  double busy_seconds = 0;
  double owing_seconds = 0;   // at least one thread had a row
  uint64_t memory_bytes = 0;  // of the budget, taken now (caches, grabs, reserves in use)
  uint64_t memory_peak_bytes = 0;
  CacheStats record_cache, decoded_cache, row_cache;  // in memory
  // Of what the record cache had not; saved by the mean of storage's reads.
  CacheStats disk_cache;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_LOADER_STATS_H_
