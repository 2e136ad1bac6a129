#include "server/worker/metrics/worker_metrics.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace penstock::worker {
namespace {

using server::Metric;
using server::MetricSet;

double Seconds(Nanos time) { return static_cast<double>(time) / kSecond; }

// Jobs of one name, such as a submission and its replacement, count together.
void AddJobs(const std::vector<loader::JobTimes>& jobs, MetricSet* out) {
  std::map<std::string, uint64_t> rows;
  for (const loader::JobTimes& job : jobs) rows[job.job] += job.rows;
  std::vector<std::pair<std::string, uint64_t>> most(rows.begin(), rows.end());
  std::stable_sort(most.begin(), most.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  if (most.size() > kMostJobSeries) most.resize(kMostJobSeries);
  for (const auto& [job, made] : most) out->Add(Metric::kWorkerJobRows, made, {job});
}

void AddSetting(std::string_view name, const SettingCount& setting, MetricSet* out) {
  out->Add(Metric::kWorkerSetting, setting.value, {name, setting.pinned ? "pinned" : "tuned"});
}

void AddRows(const WorkerSnapshot& snapshot, MetricSet* out) {
  const loader::LoaderStats& stats = snapshot.loader;
  out->Add(Metric::kWorkerRows, stats.rows);
  out->Add(Metric::kWorkerFailedRows, stats.failed_rows);
  out->Add(Metric::kWorkerRowTries, stats.tries);
  out->Add(Metric::kWorkerQueuedRows, stats.waiting_rows, {"waiting"});
  out->Add(Metric::kWorkerQueuedRows, stats.parked_rows, {"parked"});
  out->Add(Metric::kWorkerQueuedRows, stats.making_rows, {"making"});
  AddJobs(snapshot.jobs, out);
  out->Add(Metric::kWorkerTimedRows, snapshot.stages.timed_rows);
  for (const auto& [stage, seconds] : snapshot.stages.seconds) out->Add(Metric::kWorkerStageSeconds, seconds, {stage});
  out->Add(Metric::kWorkerComputeSeconds, stats.compute_seconds);
  out->Add(Metric::kWorkerReadSeconds, stats.read_seconds);
  out->Add(Metric::kWorkerCpuSeconds, stats.cpu_seconds);
  out->Add(Metric::kWorkerBusySeconds, stats.busy_seconds);
  out->Add(Metric::kWorkerOwingSeconds, stats.owing_seconds);
  out->Add(Metric::kWorkerRunningThreads, stats.running_threads);
  out->Add(Metric::kWorkerBusyReadThreads, snapshot.busy_read_threads);
  AddSetting("threads", snapshot.threads, out);
  AddSetting("most_threads", snapshot.most_threads, out);
  AddSetting("read_threads", snapshot.read_threads, out);
  AddSetting("requests", snapshot.requests, out);
  out->Add(Metric::kWorkerTuningChanges, snapshot.tuning_changes);
}

void AddCache(std::string_view name, const cache::CacheStats& cache, MetricSet* out) {
  out->Add(Metric::kWorkerCacheBytes, cache.bytes, {name});
  out->Add(Metric::kWorkerCacheLimit, cache.limit, {name});
  out->Add(Metric::kWorkerCacheHits, cache.hits, {name});
  out->Add(Metric::kWorkerCacheMisses, cache.misses, {name});
  out->Add(Metric::kWorkerCacheServedBytes, cache.served_bytes, {name});
  out->Add(Metric::kWorkerCacheSavedSeconds, cache.saved_seconds, {name});
  out->Add(Metric::kWorkerCacheChosen, cache.chosen ? 1.0 : 0.0, {name});
}

void AddMemory(const WorkerSnapshot& snapshot, MetricSet* out) {
  const loader::LoaderStats& stats = snapshot.loader;
  out->Add(Metric::kWorkerMemory, stats.rows_bytes, {"rows"});
  out->Add(Metric::kWorkerMemory, stats.scratch_bytes, {"scratch"});
  out->Add(Metric::kWorkerMemory, stats.record_cache.bytes, {"record_cache"});
  out->Add(Metric::kWorkerMemory, stats.decoded_cache.bytes, {"decoded_cache"});
  out->Add(Metric::kWorkerMemory, stats.row_cache.bytes, {"row_cache"});
  out->Add(Metric::kWorkerMemory, snapshot.rings_bytes, {"rings"});
  out->Add(Metric::kWorkerMemoryPeak, stats.memory_peak_bytes);
  out->Add(Metric::kWorkerMemoryBudget, snapshot.memory_budget_bytes);
  AddCache("records", stats.record_cache, out);
  AddCache("decoded_images", stats.decoded_cache, out);
  AddCache("finished_rows", stats.row_cache, out);
  AddCache("records_on_disk", stats.disk_cache, out);
}

void AddObjects(const WorkerSnapshot& snapshot, MetricSet* out) {
  out->Add(Metric::kWorkerObjectReadBytes, snapshot.object_bytes);
  for (const storage::ObjectSchemeCounts& counts : snapshot.objects) {
    for (size_t i = 0; i < storage::kRequestOutcomes; ++i) {
      if (counts.requests.outcomes[i] == 0) continue;
      out->Add(Metric::kWorkerObjectRequests, counts.requests.outcomes[i],
               {counts.scheme, NameOf(static_cast<storage::RequestOutcome>(i))});
    }
    out->Add(Metric::kWorkerObjectSeconds, counts.requests.seconds, {counts.scheme});
    if (counts.credentials_end != 0) {
      out->Add(Metric::kWorkerCredentialsExpire, static_cast<double>(counts.credentials_end), {counts.scheme});
    }
  }
}

void AddStorage(const WorkerSnapshot& snapshot, MetricSet* out) {
  const loader::LoaderStats& stats = snapshot.loader;
  out->Add(Metric::kWorkerReadBytes, stats.bytes_read);
  out->Add(Metric::kWorkerStorageReads, stats.storage_reads);
  out->Add(Metric::kWorkerStorageSeconds, stats.storage_seconds);
  out->Add(Metric::kWorkerReadsInFlight, stats.reads_in_flight);
  out->Add(Metric::kWorkerQueuedCalls, snapshot.queued_calls);
  AddObjects(snapshot, out);
  out->Add(Metric::kWorkerRemoteRequests, stats.remote_requests);
  out->Add(Metric::kWorkerRemoteHedges, stats.remote_hedges);
  out->Add(Metric::kWorkerRemoteReadBytes, stats.remote_bytes);
  out->Add(Metric::kWorkerRemoteUsedBytes, stats.remote_used_bytes);
  out->Add(Metric::kWorkerRanges, stats.ranges);
  out->Add(Metric::kWorkerRangeBytes, stats.range_bytes);
  out->Add(Metric::kWorkerIndexes, snapshot.indexes_from_sidecars, {"sidecar"});
  out->Add(Metric::kWorkerIndexes, snapshot.indexes_from_coordinator, {"coordinator"});
  out->Add(Metric::kWorkerIndexes, snapshot.indexes_built, {"built"});
  out->Add(Metric::kWorkerFileErrors, snapshot.failing_files);
  for (const FolderRoom& room : snapshot.folders) {
    if (room.size_bytes == 0) continue;
    out->Add(Metric::kWorkerFolderFree, room.free_bytes, {room.folder});
    out->Add(Metric::kWorkerFolderSize, room.size_bytes, {room.folder});
  }
}

void AddStreams(const WorkerSnapshot& snapshot, MetricSet* out) {
  const StreamCounts& streams = snapshot.streams;
  out->Add(Metric::kWorkerSessions, snapshot.sessions);
  out->Add(Metric::kWorkerSessionsLimit, snapshot.max_sessions);
  out->Add(Metric::kWorkerStreams, streams.shared_memory_streams, {"shared_memory"});
  out->Add(Metric::kWorkerStreams, streams.grpc_streams, {"grpc"});
  if (streams.other_streams != 0) out->Add(Metric::kWorkerStreams, streams.other_streams, {"other"});
  out->Add(Metric::kWorkerConnections, streams.connections);
  out->Add(Metric::kWorkerSentRows, streams.granted_rows, {"grant"});
  out->Add(Metric::kWorkerSentRows, streams.fetched_rows, {"fetch"});
  out->Add(Metric::kWorkerSentBytes, streams.shared_memory_bytes, {"shared_memory"});
  out->Add(Metric::kWorkerSentBytes, streams.grpc_bytes, {"grpc"});
  out->Add(Metric::kWorkerSentBytes, streams.zstd_bytes, {"grpc_zstd"});
  if (streams.other_bytes != 0) out->Add(Metric::kWorkerSentBytes, streams.other_bytes, {"other"});
  out->Add(Metric::kWorkerCompressedRowBytes, streams.compressed_row_bytes);
  // Each series counts 100 times in a fleet, so a reason has one only once it has occurred.
  for (size_t i = 0; i < streams.rejections.size(); ++i) {
    if (streams.rejections[i] == 0) continue;
    out->Add(Metric::kWorkerRejectedStreams, streams.rejections[i],
             {server::NameOf(static_cast<server::RejectionReason>(i))});
  }
  for (const v1::RejectedCaller& caller : streams.callers) {
    out->Add(Metric::kWorkerCallerRejections, caller.count(), {caller.host(), caller.name(), caller.reason()});
  }
  out->Add(Metric::kWorkerFailedStreams, streams.failed_streams);
}

}  // namespace

void AddWorker(const WorkerSnapshot& snapshot, MetricSet* out) {
  AddRows(snapshot, out);
  AddMemory(snapshot, out);
  AddStorage(snapshot, out);
  AddStreams(snapshot, out);
  out->Add(Metric::kWorkerJobsServed, snapshot.served_jobs);
  out->Add(Metric::kWorkerDraining, snapshot.draining ? 1.0 : 0.0);
  out->Add(Metric::kWorkerCoordinatorAge, Seconds(snapshot.coordinator_age));
}

std::string WorkerMetricsText(const WorkerSnapshot& snapshot) {
  MetricSet metrics;
  AddWorker(snapshot, &metrics);
  return std::move(metrics).TakeText();
}

}  // namespace penstock::worker
