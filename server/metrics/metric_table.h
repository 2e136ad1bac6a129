// The metrics of Penstock's processes: one table of names, types, labels and meanings. docs/metrics.md repeats it, and
// a test compares the two.
#ifndef PENSTOCK_SERVER_METRICS_METRIC_TABLE_H_
#define PENSTOCK_SERVER_METRICS_METRIC_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace penstock::server {

// In the order of the table.
enum class Metric : uint8_t {
  // Every process.
  kBuildInfo,
  kProcessStartTime,
  kProcessCpuSeconds,
  kProcessCpus,
  kProcessCpuPeriods,
  kProcessThrottledPeriods,
  kProcessThrottledSeconds,
  kProcessResidentMemory,
  kProcessOwnMemory,
  kProcessMemoryLimit,
  kProcessThreads,
  kProcessOpenFiles,
  kProcessOpenFilesLimit,
  kTlsCertificateExpires,
  kTlsFilesFault,
  kTlsFailedHandshakes,
  kTokensFileFault,
  // The coordinator: workers.
  kWorkers,
  kWorkersWanted,
  kWorkerReleases,
  kFleetWorkerState,
  kFleetWorkerHeartbeatAge,
  kFleetWorkerCapacity,
  kFleetWorkerOwnedBytes,
  kFleetWorkerFailingFiles,
  // The coordinator: jobs.
  kJobs,
  kJobState,
  kJobRecords,
  kJobBytes,
  kJobShards,
  kJobViewNumber,
  kJobReaders,
  kJobPaused,
  kJobDatasetRecords,
  kJobDatasetWantedRatio,
  kJobDatasetRows,
  kJobDatasetPasses,
  kJobBadRecords,
  kJobLimit,
  kJobWaitRatio,
  kJobWorkers,
  kJobWorkersNeeded,
  kJobRows,
  kJobReadBytes,
  kJobSentBytes,
  kJobThreadSeconds,
  kJobTimedRows,
  kJobStageSeconds,
  kJobBackgroundReads,
  kJobBackgroundReadSeconds,
  kJobSendSeconds,
  kJobFullSeconds,
  kJobCopySeconds,
  kJobReceivedBytes,
  // The coordinator: trainers.
  kTrainerWaitSeconds,
  kTrainerStepWait,
  kTrainerRows,
  kTrainerStepsBehind,
  kTrainerReportAge,
  // The coordinator itself.
  kCoordinatorTerm,
  kCoordinatorRequests,
  kCoordinatorRejectedRequests,
  kCoordinatorRejectedCalls,
  kCoordinatorCallerRejections,
  kCoordinatorQueuedRequests,
  kCoordinatorUnstoredRequests,
  kCoordinatorWatchers,
  kCoordinatorWatchAnswers,
  kCoordinatorCommits,
  kCoordinatorCommitSeconds,
  kCoordinatorUncommitted,
  kCoordinatorStateFree,
  kCoordinatorStateSize,
  // The worker: rows and threads.
  kWorkerRows,
  kWorkerFailedRows,
  kWorkerRowTries,
  kWorkerJobRows,
  kWorkerQueuedRows,
  kWorkerTimedRows,
  kWorkerStageSeconds,
  kWorkerComputeSeconds,
  kWorkerReadSeconds,
  kWorkerCpuSeconds,
  kWorkerBusySeconds,
  kWorkerOwingSeconds,
  kWorkerRunningThreads,
  kWorkerBusyReadThreads,
  kWorkerSetting,
  kWorkerTuningChanges,
  // The worker: memory and caches.
  kWorkerMemory,
  kWorkerMemoryPeak,
  kWorkerMemoryBudget,
  kWorkerCacheBytes,
  kWorkerCacheLimit,
  kWorkerCacheHits,
  kWorkerCacheMisses,
  kWorkerCacheServedBytes,
  kWorkerCacheSavedSeconds,
  kWorkerCacheChosen,
  // The worker: storage.
  kWorkerReadBytes,
  kWorkerStorageReads,
  kWorkerStorageSeconds,
  kWorkerReadsInFlight,
  kWorkerQueuedCalls,
  kWorkerObjectRequests,
  kWorkerObjectSeconds,
  kWorkerObjectReadBytes,
  kWorkerCredentialsExpire,
  kWorkerRemoteRequests,
  kWorkerRemoteHedges,
  kWorkerRemoteReadBytes,
  kWorkerRemoteUsedBytes,
  kWorkerRanges,
  kWorkerRangeBytes,
  kWorkerIndexes,
  kWorkerFileErrors,
  kWorkerFolderFree,
  kWorkerFolderSize,
  // The worker: streams.
  kWorkerSessions,
  kWorkerSessionsLimit,
  kWorkerStreams,
  kWorkerConnections,
  kWorkerSentRows,
  kWorkerSentBytes,
  kWorkerCompressedRowBytes,
  kWorkerRejectedStreams,
  kWorkerCallerRejections,
  kWorkerFailedStreams,
  kWorkerJobsServed,
  kWorkerDraining,
  kWorkerCoordinatorAge,
  kCount,
};

enum class MetricType : uint8_t { kCounter, kGauge, kHistogram };

// The processes that have the metric.
enum class MetricOwner : uint8_t { kEvery, kCoordinator, kWorker };

struct MetricInfo {
  static constexpr size_t kMostLabels = 3;

  Metric metric = Metric::kCount;
  std::string_view name;  // a counter ends in _total
  MetricType type = MetricType::kGauge;
  std::array<std::string_view, kMostLabels> labels;  // names; unused ones are ""
  std::string_view help;                             // one line, without "|"

  size_t label_count() const {
    size_t count = 0;
    while (count < kMostLabels && !labels[count].empty()) ++count;
    return count;
  }
  MetricOwner owner() const;
};

// Returns all metrics, in the order of Metric.
std::span<const MetricInfo> MetricTable();
const MetricInfo& InfoOf(Metric metric);

// Returns "counter", "gauge" or "histogram".
std::string_view NameOf(MetricType type);

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_METRICS_METRIC_TABLE_H_
