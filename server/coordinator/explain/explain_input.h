// All that a verdict depends on: what happened in a window of time.
#ifndef PENSTOCK_SERVER_COORDINATOR_EXPLAIN_EXPLAIN_INPUT_H_
#define PENSTOCK_SERVER_COORDINATOR_EXPLAIN_EXPLAIN_INPUT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace penstock {

// A stage of a row: milliseconds of a thread.
struct StageTime {
  std::string name;
  double milliseconds = 0;
};

// A worker of the job's view.
// One of a worker's caches in memory.
struct CacheInput {
  bool chosen = false;  // the worker finds its size; else it was set
  uint64_t limit = 0, bytes = 0;
};

struct WorkerInput {
  std::string id;
  bool live = true;  // LIVE, and heard of
  uint32_t threads = 1;
  double seconds = 0;  // that what follows is of; 0: nothing is known of it
  double rows_per_second = 0;
  // Parts of its threads' time, which are about 1 together.
  double computing = 0;        // on rows of this job, reading aside
  double reading = 0;          // in storage's calls for rows of this job
  double storage = 0;          // no row to make, and rows of this job waited for storage
  double memory = 0;           // the same for memory
  double unasked = 0;          // no row to make, and nothing more of this job was asked for
  double others = 0;           // on rows of other jobs
  double blocked = 0;          // part of the time in which this job's streams were full
  bool shared_memory = false;  // that is what carries its rows to the trainers
  double cpu = 1;              // CPU time in a second of computing: below 1 others had the CPUs
  double capacity = 0;         // rows per second that it can make; 0: unknown
  double sent_per_second = 0;  // bytes
  double read_ms = 0;          // of one read; 0: unknown
  double far_requests = 0;     // for a row, of storage that does not answer at once
  bool reads_aside = false;    // threads of their own read
  bool finds_reads = false;    // it finds by itself whether they should, and how many
  std::string tuned;           // the last setting that it changed, in words; "": none
  double cache_hits = 0;       // part of the records that came from the record cache
  double owned_bytes = 0;      // of its part of this job's data
  uint64_t memory_budget = 0;  // bytes
  CacheInput records, decoded, rows;
  std::vector<StageTime> stages;
  std::vector<std::string> troubles;  // files of this job that fail, a line each
};

struct SessionInput {
  std::string id;
  uint32_t rank = 0, world_size = 1;
  double seconds = 0;  // that what follows is of
  double rows_per_second = 0, bytes_per_second = 0, steps_per_second = 0;
  double waited = 0;                        // part of the time
  std::map<std::string, double> waited_on;  // part of its waiting, by the worker whose row came last
  uint32_t copy_threads = 0;                // 0: unknown
  double copying = 0;                       // part of the copying threads' time
  double copy_ms = 0, seal_ms = 0;          // of a row
  uint32_t window_steps = 0;
  std::string waiting_for;          // in words, when it waits for long
  std::vector<std::string> failed;  // workers that it cannot use
};

struct ExplainInput {
  std::string job;
  double data_bytes = 0;
  double chunk_bytes = 0;      // of a chunk of its shuffle; 0: it has no windows of chunks
  uint32_t window_chunks = 0;  // of its shuffle
  double row_bytes = 0;        // on the wire, FIXED columns
  bool decodes = false;        // it has images decoded,
  bool crops = false;          // of which it uses parts,
  bool floats = false;         // and large columns are floats
  std::vector<SessionInput> sessions;
  std::vector<WorkerInput> workers;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_EXPLAIN_EXPLAIN_INPUT_H_
