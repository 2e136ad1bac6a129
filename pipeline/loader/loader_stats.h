// Counters of a loader.
#ifndef PENSTOCK_PIPELINE_LOADER_LOADER_STATS_H_
#define PENSTOCK_PIPELINE_LOADER_LOADER_STATS_H_

#include <cstdint>

#include "pipeline/cache/cache_stats.h"

namespace penstock::loader {

struct LoaderStats {
  uint64_t rows = 0;  // made since the start, also masked and substituted ones
  // Tries to make rows: one for each row, and one more for each try that ended with a wait. planned_rows: rows whose
  // place in the plan was found, one for each row.
  uint64_t tries = 0, planned_rows = 0;
  uint64_t failed_rows = 0;  // failed, masked or substituted
  // These four, and compute_seconds, count only the last try of each row, not tries that ended with a wait.
  uint64_t bytes_read = 0;     // bytes of records from storage
  double read_seconds = 0;     // time in which threads read; sum over threads
  uint64_t storage_reads = 0;  // records that storage returned
  double storage_seconds = 0;  // time until storage answered, on all threads
  // Requests to remote storage, for records and for ranges of records. remote_bytes: bytes that it returned, with
  // framing only in ranges. remote_used_bytes: bytes of the records that became rows.
  uint64_t remote_requests = 0, remote_bytes = 0, remote_used_bytes = 0;
  uint64_t ranges = 0, range_bytes = 0;  // part of remote_requests and remote_bytes: ranges of several records
  uint64_t remote_hedges = 0;            // second requests of this process to object storage, after a late first one
  double compute_seconds = 0;            // time of threads with a row, without reading
  double cpu_seconds = 0;                // CPU time that the loader's threads used
  // Time in which threads had rows to make or waited for records in flight. Waits for memory, for caps and for requests
  // do not count. busy_seconds counts each moment by the share of such threads: rows / busy_seconds is the throughput
  // of this loader in rows per second. A process that is stopped or has no CPU is slow. A process whose rows no session
  // requests is not.
  double busy_seconds = 0;
  double owing_seconds = 0;   // there was at least one such thread
  uint64_t memory_bytes = 0;  // part of the budget in use
  // Parts of memory_bytes; the rest are caches in memory. rows_bytes: rows, lists of requests, ranges, and the growth
  // of the disk cache's index. scratch_bytes: scratch memory of threads.
  uint64_t rows_bytes = 0, scratch_bytes = 0;
  uint64_t memory_peak_bytes = 0;
  // At present. running_threads: not idle. waiting_rows: in the queue, for a thread, for memory or for a cap.
  // parked_rows: waiting for storage or another session. reads_in_flight: single records, without ranges.
  uint64_t running_threads = 0;
  uint64_t waiting_rows = 0, parked_rows = 0, making_rows = 0;
  uint64_t reads_in_flight = 0;
  cache::CacheStats record_cache, decoded_cache, row_cache;  // in memory
  // For misses of the record cache. Saved time is estimated by the mean of storage reads.
  cache::CacheStats disk_cache;
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_LOADER_STATS_H_
