#include "server/metrics/metric_table.h"

namespace penstock::server {
namespace {

using Labels = std::array<std::string_view, MetricInfo::kMostLabels>;

constexpr MetricInfo Counter(Metric metric, std::string_view name, Labels labels, std::string_view help) {
  return {metric, name, MetricType::kCounter, labels, help};
}
constexpr MetricInfo Gauge(Metric metric, std::string_view name, Labels labels, std::string_view help) {
  return {metric, name, MetricType::kGauge, labels, help};
}
constexpr MetricInfo Histogram(Metric metric, std::string_view name, Labels labels, std::string_view help) {
  return {metric, name, MetricType::kHistogram, labels, help};
}

constexpr std::array kTable = {
    Gauge(Metric::kBuildInfo, "penstock_build_info", {"version", "role"}, "Always 1."),
    Gauge(Metric::kProcessStartTime, "penstock_process_start_time_seconds", {},
          "Start of the process, in seconds since 1970."),
    Counter(Metric::kProcessCpuSeconds, "penstock_process_cpu_seconds_total", {"mode"},
            "CPU time of the process. Modes: user, system."),
    Gauge(Metric::kProcessCpus, "penstock_process_cpus", {},
          "CPUs that the process may use: the quota of its control groups, rounded up."),
    Counter(Metric::kProcessCpuPeriods, "penstock_process_cpu_periods_total", {},
            "Periods of the CPU quota. Absent without a quota."),
    Counter(Metric::kProcessThrottledPeriods, "penstock_process_cpu_throttled_periods_total", {},
            "Periods in which the CPU quota stopped threads. Absent without a quota."),
    Counter(Metric::kProcessThrottledSeconds, "penstock_process_cpu_throttled_seconds_total", {},
            "Time for which the CPU quota stopped threads. Absent without a quota."),
    Gauge(Metric::kProcessResidentMemory, "penstock_process_resident_memory_bytes", {},
          "Resident memory, with pages of files."),
    Gauge(Metric::kProcessOwnMemory, "penstock_process_own_memory_bytes", {},
          "Resident memory without pages of files on disk."),
    Gauge(Metric::kProcessMemoryLimit, "penstock_process_memory_limit_bytes", {},
          "Memory limit: that of the control groups, or the memory of the machine."),
    Gauge(Metric::kProcessThreads, "penstock_process_threads", {}, "Threads of the process."),
    Gauge(Metric::kProcessOpenFiles, "penstock_process_open_files", {}, "Open file descriptors."),
    Gauge(Metric::kProcessOpenFilesLimit, "penstock_process_open_files_limit", {}, "Limit of open file descriptors."),
    Gauge(Metric::kWorkers, "penstock_workers", {"state"},
          "Workers by state: live, draining, suspect, dead, left. Dead ones count for an hour."),
    Gauge(Metric::kWorkersWanted, "penstock_workers_wanted", {},
          "Estimate of the workers that would feed all trainers. At least 1; at least the live ones while it is "
          "unknown for a job."),
    Gauge(Metric::kWorkerReleases, "penstock_worker_releases", {"version"},
          "Workers that send heartbeats, by release."),
    Gauge(Metric::kFleetWorkerState, "penstock_fleet_worker_state", {"worker", "state"},
          "1 for the worker's state. A lost worker is listed for 4 minutes."),
    Gauge(Metric::kFleetWorkerHeartbeatAge, "penstock_fleet_worker_heartbeat_age_seconds", {"worker"},
          "Time since the worker's last heartbeat."),
    Gauge(Metric::kFleetWorkerCapacity, "penstock_fleet_worker_capacity_rows_per_second", {"worker"},
          "Rate that the worker is able to reach, as it measured. 0: unknown."),
    Gauge(Metric::kFleetWorkerOwnedBytes, "penstock_fleet_worker_owned_bytes", {"worker"},
          "Bytes of data sets that are assigned to the worker."),
    Gauge(Metric::kFleetWorkerFailingFiles, "penstock_fleet_worker_failing_files", {"worker"},
          "Files that the worker cannot read now, at most 8."),
    Gauge(Metric::kJobs, "penstock_jobs", {"state"},
          "Jobs by state: preparing, ready, failed, cancelled. Series of single jobs exist only for the first two."),
    Gauge(Metric::kJobState, "penstock_job_state", {"job", "state"}, "1 for the job's state."),
    Gauge(Metric::kJobRecords, "penstock_job_records", {"job"}, "Records of the job's snapshot."),
    Gauge(Metric::kJobBytes, "penstock_job_bytes", {"job"}, "Bytes of the job's snapshot."),
    Gauge(Metric::kJobShards, "penstock_job_shards", {"job", "state"},
          "Shards of the job. States: indexed, waiting (for an index)."),
    Gauge(Metric::kJobViewNumber, "penstock_job_view_number", {"job"},
          "Number of the job's view. It grows with each change of the assignment."),
    Gauge(Metric::kJobReaders, "penstock_job_readers", {"job"}, "Open sessions of trainers."),
    Counter(Metric::kJobBadRecords, "penstock_job_bad_records_total", {"job", "reason"},
            "Known bad records by reason, of at most 33 reasons."),
    Gauge(Metric::kJobLimit, "penstock_job_limit", {"job", "limit"},
          "1 for the limit that holds, 0 for the others, as penstock explain. Only for jobs with trainers."),
    Gauge(Metric::kJobWaitRatio, "penstock_job_wait_ratio", {"job"},
          "Fraction of the last 10 s that the trainer with the longest wait waited. Only for jobs with trainers."),
    Gauge(Metric::kJobWorkers, "penstock_job_workers", {"job"},
          "Workers that serve the job. Only for jobs with trainers."),
    Gauge(Metric::kJobWorkersNeeded, "penstock_job_workers_needed", {"job"},
          "Workers that would feed the job's trainers. Absent while unknown."),
    Counter(Metric::kJobRows, "penstock_job_rows_total", {"job"}, "Rows that workers made for the job."),
    Counter(Metric::kJobReadBytes, "penstock_job_read_bytes_total", {"job"},
            "Bytes that workers read from storage for the job."),
    Counter(Metric::kJobSentBytes, "penstock_job_sent_bytes_total", {"job"},
            "Bytes of rows that workers sent for the job."),
    Counter(Metric::kJobThreadSeconds, "penstock_job_thread_seconds_total", {"job", "activity"},
            "Time of workers' threads by activity: making, reading; or, while idle, the reason: storage, memory, "
            "unrequested."),
    Counter(Metric::kJobTimedRows, "penstock_job_timed_rows_total", {"job"},
            "Rows whose stages were measured: a sample."),
    Counter(Metric::kJobStageSeconds, "penstock_job_stage_seconds_total", {"job", "stage"},
            "Time of the timed rows in each stage."),
    Counter(Metric::kJobBackgroundReads, "penstock_job_background_reads_total", {"job"},
            "Records that were read while their rows were parked."),
    Counter(Metric::kJobBackgroundReadSeconds, "penstock_job_background_read_seconds_total", {"job"},
            "Sum over these reads, from the request to the data."),
    Counter(Metric::kJobSendSeconds, "penstock_job_send_seconds_total", {"job"},
            "Time to make messages from rows and to pass them to the streams."),
    Counter(Metric::kJobFullSeconds, "penstock_job_full_seconds_total", {"job"},
            "Sum over streams: time in which a message waited for the previous one."),
    Counter(Metric::kJobCopySeconds, "penstock_job_copy_seconds_total", {"job"},
            "Time of trainers' copying threads: rows into batches."),
    Counter(Metric::kJobReceivedBytes, "penstock_job_received_bytes_total", {"job"},
            "Bytes of rows that trainers received."),
    Counter(Metric::kTrainerWaitSeconds, "penstock_trainer_wait_seconds_total", {"job", "rank"},
            "Time that the trainer waited for rows."),
    Histogram(Metric::kTrainerStepWait, "penstock_trainer_step_wait_seconds", {"job", "rank"},
              "Wait for a step: the mean over the steps of a report. With more than 16 ranks only rank all."),
    Counter(Metric::kTrainerRows, "penstock_trainer_rows_total", {"job", "rank"}, "Rows that the trainer took."),
    Gauge(Metric::kTrainerStepsBehind, "penstock_trainer_steps_behind", {"job", "rank"},
          "Steps that the rank is behind the first rank of its run."),
    Gauge(Metric::kTrainerReportAge, "penstock_trainer_report_age_seconds", {"job", "rank"},
          "Time since the trainer's last report."),
    Gauge(Metric::kCoordinatorTerm, "penstock_coordinator_term", {},
          "Term of the coordinator. It grows with each start on the same store."),
    Counter(Metric::kCoordinatorRequests, "penstock_coordinator_requests_total", {},
            "Requests that the control loop handled, without watches."),
    Counter(Metric::kCoordinatorRejectedRequests, "penstock_coordinator_rejected_requests_total", {},
            "Requests that the control loop rejected because too many waited."),
    Gauge(Metric::kCoordinatorQueuedRequests, "penstock_coordinator_queued_requests", {},
          "Requests that wait for the control loop."),
    Gauge(Metric::kCoordinatorUnstoredRequests, "penstock_coordinator_unstored_requests", {},
          "Requests that wait for the store."),
    Gauge(Metric::kCoordinatorWatchers, "penstock_coordinator_watchers", {}, "Open watches."),
    Counter(Metric::kCoordinatorWatchAnswers, "penstock_coordinator_watch_answers_total", {"kind"},
            "Answers of watches. Kinds: encoded (watchers share them), empty."),
    Counter(Metric::kCoordinatorCommits, "penstock_coordinator_commits_total", {"outcome"},
            "Commits by outcome: stored, not_stored, unknown (then settled), superseded."),
    Counter(Metric::kCoordinatorCommitSeconds, "penstock_coordinator_commit_seconds_total", {},
            "Time for which a commit was in flight."),
    Gauge(Metric::kCoordinatorUncommitted, "penstock_coordinator_uncommitted_changes", {},
          "Changes that are not stored yet."),
    Gauge(Metric::kCoordinatorStateFree, "penstock_coordinator_state_free_bytes", {},
          "Free bytes of the disk with the state directory."),
    Gauge(Metric::kCoordinatorStateSize, "penstock_coordinator_state_size_bytes", {},
          "Size of the disk with the state directory."),
    Counter(Metric::kWorkerRows, "penstock_worker_rows_total", {}, "Rows made, also masked and substituted ones."),
    Counter(Metric::kWorkerFailedRows, "penstock_worker_failed_rows_total", {},
            "Rows that failed, were masked or were substituted."),
    Counter(Metric::kWorkerRowTries, "penstock_worker_row_tries_total", {},
            "Tries to make rows: one for each row, and one for each try that ended with a wait."),
    Counter(Metric::kWorkerJobRows, "penstock_worker_job_rows_total", {"job"},
            "Rows made, by job that has or had a stream here: the 64 jobs with most rows."),
    Gauge(Metric::kWorkerQueuedRows, "penstock_worker_queued_rows", {"queue"},
          "Requested rows: waiting (for a thread), parked (for storage or another row), making."),
    Counter(Metric::kWorkerTimedRows, "penstock_worker_timed_rows_total", {},
            "Rows whose stages were measured: a sample. All jobs together."),
    Counter(Metric::kWorkerStageSeconds, "penstock_worker_stage_seconds_total", {"stage"},
            "Time of the timed rows in each stage."),
    Counter(Metric::kWorkerComputeSeconds, "penstock_worker_compute_seconds_total", {},
            "Time of threads that made rows, without reads."),
    Counter(Metric::kWorkerReadSeconds, "penstock_worker_read_seconds_total", {},
            "Time of threads that make rows, in reads."),
    Counter(Metric::kWorkerCpuSeconds, "penstock_worker_cpu_seconds_total", {}, "CPU time of threads that make rows."),
    Counter(Metric::kWorkerBusySeconds, "penstock_worker_busy_seconds_total", {},
            "Time with rows to make. Each moment counts by the fraction of the threads that had a row."),
    Counter(Metric::kWorkerOwingSeconds, "penstock_worker_owing_seconds_total", {},
            "Time in which at least one thread had a row to make."),
    Gauge(Metric::kWorkerRunningThreads, "penstock_worker_running_threads", {},
          "Threads that make rows and are not idle."),
    Gauge(Metric::kWorkerBusyReadThreads, "penstock_worker_busy_read_threads", {},
          "Busy threads that only read. If the worker has none, busy threads that open files."),
    Gauge(Metric::kWorkerSetting, "penstock_worker_setting", {"setting", "source"},
          "Current settings: threads, most_threads, read_threads, requests. Sources: tuned, pinned."),
    Counter(Metric::kWorkerTuningChanges, "penstock_worker_tuning_changes_total", {},
            "Changes of settings that tuning kept."),
    Gauge(Metric::kWorkerMemory, "penstock_worker_memory_bytes", {"holder"},
          "Used parts of the budget: rows, scratch (of threads), record_cache, decoded_cache, row_cache, rings."),
    Gauge(Metric::kWorkerMemoryPeak, "penstock_worker_memory_peak_bytes", {},
          "Most memory that the loader used, without rings."),
    Gauge(Metric::kWorkerMemoryBudget, "penstock_worker_memory_budget_bytes", {}, "Memory budget."),
    Gauge(Metric::kWorkerCacheBytes, "penstock_worker_cache_bytes", {"cache"},
          "Bytes in the cache: records, decoded_images, finished_rows, records_on_disk."),
    Gauge(Metric::kWorkerCacheLimit, "penstock_worker_cache_limit_bytes", {"cache"},
          "Limit of the cache. 0: it is off."),
    Counter(Metric::kWorkerCacheHits, "penstock_worker_cache_hits_total", {"cache"}, "Hits."),
    Counter(Metric::kWorkerCacheMisses, "penstock_worker_cache_misses_total", {"cache"}, "Misses."),
    Counter(Metric::kWorkerCacheServedBytes, "penstock_worker_cache_served_bytes_total", {"cache"},
            "Bytes of the hits."),
    Gauge(Metric::kWorkerCacheSavedSeconds, "penstock_worker_cache_saved_seconds", {"cache"},
          "Thread time that the hits saved so far: an estimate, which may fall."),
    Gauge(Metric::kWorkerCacheChosen, "penstock_worker_cache_chosen", {"cache"},
          "1: the worker chooses the limit. 0: it is pinned."),
    Counter(Metric::kWorkerReadBytes, "penstock_worker_read_bytes_total", {},
            "Bytes of records that were read from storage."),
    Counter(Metric::kWorkerStorageReads, "penstock_worker_storage_reads_total", {},
            "Records that were requested from storage."),
    Counter(Metric::kWorkerStorageSeconds, "penstock_worker_storage_seconds_total", {},
            "Sum over these requests, until storage answered."),
    Gauge(Metric::kWorkerReadsInFlight, "penstock_worker_reads_in_flight", {},
          "Records in flight from storage with high latency, without ranges."),
    Gauge(Metric::kWorkerQueuedCalls, "penstock_worker_queued_calls", {},
          "Calls for files that wait for a thread that reads or opens files."),
    Counter(Metric::kWorkerObjectRequests, "penstock_worker_object_requests_total", {},
            "Requests to object storage, also retries and repeated ones, of the whole process."),
    Counter(Metric::kWorkerObjectRetries, "penstock_worker_object_retries_total", {},
            "Requests to object storage after an error that may pass."),
    Counter(Metric::kWorkerObjectReadBytes, "penstock_worker_object_read_bytes_total", {},
            "Bytes of objects that object storage returned."),
    Counter(Metric::kWorkerRemoteRequests, "penstock_worker_remote_requests_total", {},
            "Requests to storage with high latency: records and ranges."),
    Counter(Metric::kWorkerRemoteHedges, "penstock_worker_remote_hedges_total", {},
            "Requests to object storage that were repeated because the first answer was late."),
    Counter(Metric::kWorkerRemoteReadBytes, "penstock_worker_remote_read_bytes_total", {},
            "Bytes that storage with high latency returned."),
    Counter(Metric::kWorkerRemoteUsedBytes, "penstock_worker_remote_used_bytes_total", {},
            "Part of these bytes that became rows. Their ratio is bytes read per byte used."),
    Counter(Metric::kWorkerRanges, "penstock_worker_ranges_total", {},
            "Ranges of several records that were requested."),
    Counter(Metric::kWorkerRangeBytes, "penstock_worker_range_bytes_total", {}, "Bytes of ranges."),
    Counter(Metric::kWorkerIndexes, "penstock_worker_indexes_total", {"source"},
            "Indexes of shards that were loaded: from a sidecar, from the coordinator, or built."),
    Gauge(Metric::kWorkerFileErrors, "penstock_worker_failing_files", {},
          "Files that this worker cannot read now, at most 8."),
    Gauge(Metric::kWorkerFolderFree, "penstock_worker_folder_free_bytes", {"folder"},
          "Free bytes of the disk with the folder. Folders: state, disk_cache."),
    Gauge(Metric::kWorkerFolderSize, "penstock_worker_folder_size_bytes", {"folder"},
          "Size of the disk with the folder."),
    Gauge(Metric::kWorkerSessions, "penstock_worker_sessions", {}, "Sessions of clients."),
    Gauge(Metric::kWorkerSessionsLimit, "penstock_worker_sessions_limit", {}, "Limit of sessions: max_sessions."),
    Gauge(Metric::kWorkerStreams, "penstock_worker_streams", {"carrier"},
          "Streams that have sent rows, by carrier: shared_memory, grpc, other."),
    Gauge(Metric::kWorkerConnections, "penstock_worker_connections", {},
          "Connections of the streams over gRPC. A stream to another host may use several."),
    Counter(Metric::kWorkerSentRows, "penstock_worker_sent_rows_total", {"request"},
            "Sent rows: grant, or fetch (late rows of other workers, and rows between two views)."),
    Counter(Metric::kWorkerSentBytes, "penstock_worker_sent_bytes_total", {"carrier"},
            "Bytes of sent rows, by carrier: shared_memory, grpc, grpc_zstd (compressed), other."),
    Counter(Metric::kWorkerCompressedRowBytes, "penstock_worker_compressed_row_bytes_total", {},
            "Size of the compressed rows before compression."),
    Gauge(Metric::kWorkerJobsServed, "penstock_worker_jobs", {}, "Jobs that the worker can serve."),
    Gauge(Metric::kWorkerDraining, "penstock_worker_draining", {}, "1 while the worker drains."),
    Gauge(Metric::kWorkerCoordinatorAge, "penstock_worker_coordinator_age_seconds", {},
          "Time since the coordinator last answered, or since the start."),
};

constexpr bool IsInOrder() {
  for (size_t i = 0; i < kTable.size(); ++i) {
    if (kTable[i].metric != static_cast<Metric>(i)) return false;
  }
  return kTable.size() == static_cast<size_t>(Metric::kCount);
}
static_assert(IsInOrder(), "the table must have the order of Metric");

}  // namespace

MetricOwner MetricInfo::owner() const {
  if (metric < Metric::kWorkers) return MetricOwner::kEvery;
  return metric < Metric::kWorkerRows ? MetricOwner::kCoordinator : MetricOwner::kWorker;
}

std::span<const MetricInfo> MetricTable() { return kTable; }

const MetricInfo& InfoOf(Metric metric) { return kTable[static_cast<size_t>(metric)]; }

std::string_view NameOf(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kHistogram:
      break;
  }
  return "histogram";
}

}  // namespace penstock::server
