// What a reader has seen so far.
#ifndef PENSTOCK_STATS_H_
#define PENSTOCK_STATS_H_

#include <cstdint>

#include "absl/time/time.h"

namespace penstock {

struct ReaderStats {
  uint64_t batches = 0;              // returned by Next
  uint64_t rows = 0;                 // of those batches, on this rank
  uint64_t bytes_received = 0;       // row payload
  uint64_t shared_memory_bytes = 0;  // of these, through shared memory, from workers on this host
  uint64_t compressed_bytes = 0;     // of bytes_received, those that were compressed on their way (before compression)
  absl::Duration waited;             // time that Next spent waiting for data; a wait under way counts
  absl::Duration longest_wait;       // of a single Next, the first excluded
  absl::Duration first_batch_wait;
  uint64_t duplicate_rows = 0;     // delivered twice and dropped
  uint64_t fetched_rows = 0;       // asked for again, of whichever worker
  uint64_t fetched_elsewhere = 0;  // of these, of another worker than the one whose part they were
  uint64_t broken_streams = 0;
  // Of `rows`, each once, padding aside: what the job's error policy did with bad records.
  uint64_t masked_rows = 0;  // valid = 0
  uint64_t substituted_rows = 0;
  uint64_t view_changes = 0;
  uint64_t prefetched_steps = 0;  // complete and waiting for the trainer, now
};

}  // namespace penstock

#endif  // PENSTOCK_STATS_H_
