// A worker's counters as metrics (server/metrics). Pure.
#ifndef PENSTOCK_SERVER_WORKER_METRICS_WORKER_METRICS_H_
#define PENSTOCK_SERVER_WORKER_METRICS_WORKER_METRICS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/runtime/clock.h"
#include "pipeline/loader/job_times.h"
#include "pipeline/loader/loader_stats.h"
#include "pipeline/storage/object/object_storage.h"
#include "server/metrics/metric_set.h"
#include "server/peers/rejections.h"
#include "server/worker/metrics/stage_sums.h"

namespace penstock::worker {

// Jobs that have series: those with the most rows.
constexpr size_t kMostJobSeries = 64;

// A setting that tuning may change.
struct SettingCount {
  uint64_t value = 0;
  bool pinned = false;
};

// Counts of the rows that streams send.
struct StreamCounts {
  // Bytes of rows by carrier. zstd: compressed, over gRPC.
  uint64_t shared_memory_bytes = 0, grpc_bytes = 0, zstd_bytes = 0, other_bytes = 0;
  uint64_t compressed_row_bytes = 0;  // size of the compressed rows before compression
  uint64_t granted_rows = 0, fetched_rows = 0;
  uint64_t shared_memory_streams = 0, grpc_streams = 0, other_streams = 0;
  uint64_t connections = 0;                                        // streams over gRPC have one or more
  server::Rejections::Counts rejections = {};                      // rejected connections and streams
  google::protobuf::RepeatedPtrField<v1::RejectedCaller> callers;  // their callers
  uint64_t failed_streams = 0;
};

// A folder's disk. Both numbers are 0 if they are unknown.
struct FolderRoom {
  std::string folder;  // "state" or "disk_cache"
  uint64_t free_bytes = 0, size_bytes = 0;
};

struct WorkerSnapshot {
  loader::LoaderStats loader;
  std::vector<loader::JobTimes> jobs;
  StageSums::Sums stages;
  SettingCount threads, most_threads, read_threads, requests;
  uint64_t tuning_changes = 0;
  uint64_t memory_budget_bytes = 0, rings_bytes = 0;
  uint64_t busy_read_threads = 0, queued_calls = 0;
  // The requests of the process to object storage, and the bytes of objects that it received.
  std::vector<storage::ObjectSchemeCounts> objects;
  uint64_t object_bytes = 0;
  uint64_t indexes_from_sidecars = 0, indexes_from_coordinator = 0, indexes_built = 0;
  uint64_t failing_files = 0;
  std::vector<FolderRoom> folders;
  uint64_t sessions = 0, max_sessions = 0;
  StreamCounts streams;
  uint64_t served_jobs = 0;
  bool draining = false;
  Nanos coordinator_age = 0;  // since the coordinator last answered
};

void AddWorker(const WorkerSnapshot& snapshot, server::MetricSet* out);

// Returns AddWorker's metrics in Prometheus' text format.
std::string WorkerMetricsText(const WorkerSnapshot& snapshot);

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_METRICS_WORKER_METRICS_H_
