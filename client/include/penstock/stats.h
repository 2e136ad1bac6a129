// Statistics of a reader.
#ifndef PENSTOCK_STATS_H_
#define PENSTOCK_STATS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace penstock {

// One data set of a job whose data sets have names.
struct DatasetStats {
  std::string name;
  uint64_t rows = 0;  // part of ReaderStats::rows
  // The rows of all ranks from the start of epoch 0 to the next batch, divided by the records of the data set. 2.4: it
  // has given two passes, and 0.4 of the third.
  double passes = 0;
};

struct ReaderStats {
  uint64_t batches = 0;              // batches that Next returned
  uint64_t rows = 0;                 // rows of those batches, on this rank
  uint64_t bytes_received = 0;       // row payload
  uint64_t shared_memory_bytes = 0;  // part of bytes_received through shared memory, from workers on this host
  uint64_t compressed_bytes = 0;     // part of bytes_received that arrived compressed (size before compression)
  absl::Duration waited;             // time that Next waited for data, including a current wait
  absl::Duration longest_wait;       // longest wait for a batch, over all calls of Next, except the first
  absl::Duration first_batch_wait;
  uint64_t duplicate_rows = 0;     // copies of rows that the reader dropped, because it had the row
  uint64_t fetched_rows = 0;       // rows requested again, from any worker
  uint64_t fetched_elsewhere = 0;  // part of fetched_rows, from a worker that does not own the row
  uint64_t broken_streams = 0;
  // Rows among `rows` that the job's error policy handled, each counted once, without padding.
  uint64_t masked_rows = 0;  // valid = 0
  uint64_t substituted_rows = 0;
  uint64_t view_changes = 0;           // changes of the assignment of rows to workers that this reader followed
  uint64_t prefetched_steps = 0;       // complete steps that currently wait for the trainer
  std::vector<DatasetStats> datasets;  // in the order of Reader::datasets()
};

}  // namespace penstock

#endif  // PENSTOCK_STATS_H_
