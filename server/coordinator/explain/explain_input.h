// The input of an explanation: events in a window of time.
#ifndef PENSTOCK_SERVER_COORDINATOR_EXPLAIN_EXPLAIN_INPUT_H_
#define PENSTOCK_SERVER_COORDINATOR_EXPLAIN_EXPLAIN_INPUT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace penstock::coordinator {

// A stage of a row, in milliseconds of thread time.
struct StageTime {
  std::string name;
  double milliseconds = 0;
};

// The rows of one data set that a worker made.
struct DatasetTime {
  uint32_t dataset = 0;  // number in the job
  double rows = 0;
  double seconds = 0;  // thread time without reads
};

// One of a worker's caches in memory.
struct CacheInput {
  bool chosen = false;  // the worker chooses the limit; otherwise it was configured
  uint64_t limit = 0, bytes = 0;
};

// A worker of the job's view, or another live worker that is able to serve the job.
struct WorkerInput {
  std::string id;
  std::string name;  // display name; empty: its id
  bool live = true;  // in state LIVE
  uint32_t threads = 1;
  double seconds = 0;  // period of the following fields; 0: they are unknown
  double rows_per_second = 0;
  // Fractions of its threads' time, which add up to about 1.
  double computing = 0;           // on rows of this job, without reading
  double reading = 0;             // in storage calls for rows of this job
  double storage = 0;             // idle, and rows of this job waited for storage
  double memory = 0;              // idle, and rows of this job waited for memory
  double unrequested = 0;         // idle, and no reader requested more of this job
  double capped = 0;              // idle, and caps of this job held its rows
  double others = 0;              // on rows of other jobs
  double held = 0;                // fraction of the time in which caps of this job held its rows
  double blocked = 0;             // fraction of the time in which this job's streams were full
  bool shared_memory = false;     // it sends its rows to the trainers through shared memory
  double cpu = 1;                 // CPU time per second of computing; below 1 other processes used the CPUs
  double capacity = 0;            // rows per second that it is able to make; 0: unknown
  double sent_per_second = 0;     // bytes
  double read_ms = 0;             // duration of one read; 0: unknown
  double remote_requests = 0;     // requests per row to storage with high latency
  bool background_reads = false;  // it reads on separate threads
  bool finds_reads = false;       // it decides whether to read on separate threads, and on how many
  std::string tuned;              // the last setting that it changed, in words; "": none
  double cache_hits = 0;          // fraction of the records that came from the record cache
  double owned_bytes = 0;         // bytes of its part of this job's data
  uint64_t memory_budget = 0;     // bytes
  CacheInput records, decoded, rows;
  std::vector<StageTime> stages;
  std::vector<DatasetTime> datasets;     // data sets of a blend that took most time
  std::vector<std::string> file_errors;  // files of this job that fail, a line each
};

struct SessionInput {
  std::string id;
  uint32_t rank = 0, world_size = 1;
  double seconds = 0;  // period of the following fields
  double rows_per_second = 0, bytes_per_second = 0, steps_per_second = 0;
  double waited = 0;                        // fraction of the time in which its trainer waited
  std::map<std::string, double> waited_on;  // fraction of its waiting, by the worker whose row came last
  uint32_t copy_threads = 0;                // 0: unknown
  double copying = 0;                       // fraction of the copying threads' time
  double copy_ms = 0, seal_ms = 0;          // milliseconds per row
  uint32_t window_steps = 0;
  std::string waiting_for;          // reason why its next step waits, in words; usually ""
  std::vector<std::string> failed;  // workers that it cannot use
};

struct ExplainInput {
  std::string job;
  double data_bytes = 0;
  double chunk_bytes = 0;             // size of a chunk of its shuffle; 0: it has no windows of chunks
  uint32_t window_chunks = 0;         // chunks in a window of its shuffle
  double row_bytes = 0;               // on the wire, FIXED columns
  std::vector<std::string> datasets;  // names of the data sets of a blend
  std::string caps;                   // its caps in words: "cpu_share 0.25"; "": none
  bool decodes = false;               // it decodes images
  bool crops = false;                 // it crops them
  bool floats = false;                // large columns are floats
  std::vector<SessionInput> sessions;
  std::vector<WorkerInput> workers;
  std::map<std::string, std::string> names;  // names of all known workers, by id
  std::vector<std::string> lost;             // workers that do not serve now, a line each: "w1 was lost 4 s ago: ..."
};

inline const std::string& NameOf(const WorkerInput& worker) { return worker.name.empty() ? worker.id : worker.name; }

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_EXPLAIN_EXPLAIN_INPUT_H_
