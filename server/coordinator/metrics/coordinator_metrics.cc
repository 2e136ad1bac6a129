#include "server/coordinator/metrics/coordinator_metrics.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "base/utf8.h"
#include "server/coordinator/metrics/trainer_metrics.h"
#include "server/coordinator/metrics/workers_wanted.h"

namespace penstock::coordinator {
namespace {

using server::Metric;
using server::MetricSet;

constexpr size_t kVersionBytes = 32;

double Seconds(Nanos time) { return static_cast<double>(time) / kSecond; }

// Returns the name of a message's enumerator as a label: "live".
std::string LabelOf(const std::string& enumerator) { return absl::AsciiStrToLower(enumerator); }

bool Beats(v1::WorkerStatus::State state) {
  return state == v1::WorkerStatus::LIVE || state == v1::WorkerStatus::DRAINING || state == v1::WorkerStatus::SUSPECT;
}

void AddWorkers(const CoordinatorSnapshot& snapshot, MetricSet* out) {
  std::map<v1::WorkerStatus::State, uint64_t> states;
  for (const auto state : {v1::WorkerStatus::LIVE, v1::WorkerStatus::DRAINING, v1::WorkerStatus::DEAD,
                           v1::WorkerStatus::LEFT, v1::WorkerStatus::SUSPECT}) {
    states[state] = 0;
  }
  std::map<std::string, uint64_t> releases;
  std::set<std::string> names;  // of workers with series
  // Workers that send heartbeats come first: a lost worker may have the name of its successor.
  for (const bool beats : {true, false}) {
    for (const v1::WorkerStatus& worker : snapshot.status.workers()) {
      if (Beats(worker.state()) != beats) continue;
      ++states[worker.state()];
      if (beats) ++releases[TruncatedUtf8(worker.version(), kVersionBytes)];
      const Nanos age = static_cast<Nanos>(worker.milliseconds_since_heartbeat()) * kMillisecond;
      if (!beats && age > kShowLost) continue;
      const std::string& name = worker.name().empty() ? worker.id() : worker.name();
      if (!names.insert(name).second) continue;
      out->Add(Metric::kFleetWorkerState, 1.0, {name, LabelOf(v1::WorkerStatus::State_Name(worker.state()))});
      out->Add(Metric::kFleetWorkerHeartbeatAge, Seconds(age), {name});
      if (!beats) continue;
      out->Add(Metric::kFleetWorkerCapacity, worker.load().capacity(), {name});
      out->Add(Metric::kFleetWorkerOwnedBytes, worker.owned_bytes(), {name});
      out->Add(Metric::kFleetWorkerFailingFiles, static_cast<double>(worker.load().troubles_size()), {name});
    }
  }
  for (const auto& [state, count] : states) {
    out->Add(Metric::kWorkers, count, {LabelOf(v1::WorkerStatus::State_Name(state))});
  }
  for (const auto& [version, count] : releases) out->Add(Metric::kWorkerReleases, count, {version});
  out->Add(Metric::kWorkersWanted, static_cast<double>(WorkersWanted(snapshot)));
}

void AddTotals(const std::string& job, const JobTotals::Sums& sums, MetricSet* out) {
  out->Add(Metric::kJobRows, sums.rows, {job});
  out->Add(Metric::kJobReadBytes, sums.bytes_read, {job});
  out->Add(Metric::kJobSentBytes, sums.bytes_sent, {job});
  out->Add(Metric::kJobThreadSeconds, sums.computing_seconds, {job, "making"});
  out->Add(Metric::kJobThreadSeconds, sums.reading_seconds, {job, "reading"});
  out->Add(Metric::kJobThreadSeconds, sums.storage_seconds, {job, "storage"});
  out->Add(Metric::kJobThreadSeconds, sums.memory_seconds, {job, "memory"});
  if (sums.capped_seconds > 0) out->Add(Metric::kJobThreadSeconds, sums.capped_seconds, {job, "capped"});
  out->Add(Metric::kJobThreadSeconds, sums.unrequested_seconds, {job, "unrequested"});
  out->Add(Metric::kJobTimedRows, sums.timed_rows, {job});
  for (const auto& [stage, seconds] : sums.stages) out->Add(Metric::kJobStageSeconds, seconds, {job, stage});
  out->Add(Metric::kJobBackgroundReads, sums.background_reads, {job});
  out->Add(Metric::kJobBackgroundReadSeconds, sums.background_read_seconds, {job});
  out->Add(Metric::kJobSendSeconds, sums.send_seconds, {job});
  out->Add(Metric::kJobFullSeconds, sums.full_seconds, {job});
}

void AddExplanation(const v1::Explanation& explanation, MetricSet* out) {
  const std::string& job = explanation.job();
  for (int limit = v1::Explanation::Limit_MIN; limit <= v1::Explanation::Limit_MAX; ++limit) {
    if (!v1::Explanation::Limit_IsValid(limit)) continue;
    const auto named = static_cast<v1::Explanation::Limit>(limit);
    if (named == v1::Explanation::CAP && explanation.limit() != named) continue;  // most jobs have no caps
    const std::string label =
        named == v1::Explanation::LIMIT_UNKNOWN ? "unknown" : LabelOf(v1::Explanation::Limit_Name(named));
    out->Add(Metric::kJobLimit, named == explanation.limit() ? 1.0 : 0.0, {job, label});
  }
  out->Add(Metric::kJobWaitRatio, explanation.waited(), {job});
  out->Add(Metric::kJobWorkers, static_cast<double>(explanation.workers()), {job});
  if (explanation.workers_needed() > 0) {
    out->Add(Metric::kJobWorkersNeeded, static_cast<double>(explanation.workers_needed()), {job});
  }
}

void AddDatasets(const v1::StatusReply::JobStatus& job, MetricSet* out) {
  for (const v1::StatusReply::DatasetStatus& dataset : job.datasets()) {
    out->Add(Metric::kJobDatasetRecords, dataset.records(), {job.name(), dataset.name()});
    out->Add(Metric::kJobDatasetWantedRatio, dataset.wanted_share(), {job.name(), dataset.name()});
    if (job.sessions().empty()) continue;
    out->Add(Metric::kJobDatasetRows, dataset.rows(), {job.name(), dataset.name()});
    out->Add(Metric::kJobDatasetPasses, dataset.passes(), {job.name(), dataset.name()});
  }
}

void AddJob(const v1::StatusReply::JobStatus& job, const CoordinatorSnapshot& snapshot, MetricSet* out) {
  const std::string& name = job.name();
  out->Add(Metric::kJobState, 1.0, {name, LabelOf(v1::JobState_Name(job.state()))});
  out->Add(Metric::kJobRecords, job.records(), {name});
  out->Add(Metric::kJobBytes, job.bytes(), {name});
  out->Add(Metric::kJobShards, static_cast<double>(job.shards_indexed()), {name, "indexed"});
  const uint32_t waiting = job.shards() - std::min(job.shards_indexed(), job.shards());
  out->Add(Metric::kJobShards, static_cast<double>(waiting), {name, "waiting"});
  out->Add(Metric::kJobViewNumber, job.view_number(), {name});
  out->Add(Metric::kJobReaders, static_cast<double>(job.sessions_size()), {name});
  if (!job.paused_by().empty()) out->Add(Metric::kJobPaused, 1.0, {name});
  AddDatasets(job, out);
  for (const v1::ReasonCount& reason : job.bad_reasons()) {
    out->Add(Metric::kJobBadRecords, reason.records(), {name, reason.reason()});
  }
  if (const auto totals = snapshot.job_totals.find(name); totals != snapshot.job_totals.end()) {
    AddTotals(name, totals->second, out);
  }
}

void AddService(const CoordinatorSnapshot& snapshot, MetricSet* out) {
  const ServiceCounts& service = snapshot.service;
  out->Add(Metric::kCoordinatorTerm, snapshot.status.term());
  out->Add(Metric::kCoordinatorRequests, service.handled);
  out->Add(Metric::kCoordinatorRejectedRequests, service.rejected);
  for (size_t i = 0; i < service.rejections.size(); ++i) {
    out->Add(Metric::kCoordinatorRejectedCalls, service.rejections[i],
             {server::NameOf(static_cast<server::RejectionReason>(i))});
  }
  for (const v1::RejectedCaller& caller : service.callers) {
    out->Add(Metric::kCoordinatorCallerRejections, caller.count(), {caller.host(), caller.name(), caller.reason()});
  }
  out->Add(Metric::kCoordinatorQueuedRequests, service.queued);
  out->Add(Metric::kCoordinatorUnstoredRequests, service.unstored);
  out->Add(Metric::kCoordinatorWatchers, service.watchers);
  out->Add(Metric::kCoordinatorWatchAnswers, service.answers_encoded, {"encoded"});
  out->Add(Metric::kCoordinatorWatchAnswers, service.answers_empty, {"empty"});
  out->Add(Metric::kCoordinatorCommits, service.stored, {"stored"});
  out->Add(Metric::kCoordinatorCommits, service.not_stored, {"not_stored"});
  out->Add(Metric::kCoordinatorCommits, service.unknown, {"unknown"});
  out->Add(Metric::kCoordinatorCommits, service.superseded, {"superseded"});
  out->Add(Metric::kCoordinatorCommitSeconds, Seconds(service.committing));
  out->Add(Metric::kCoordinatorUncommitted, service.uncommitted);
  if (service.disk_bytes == 0) return;
  out->Add(Metric::kCoordinatorStateFree, service.disk_free_bytes);
  out->Add(Metric::kCoordinatorStateSize, service.disk_bytes);
}

}  // namespace

void AddCoordinator(const CoordinatorSnapshot& snapshot, MetricSet* out) {
  AddWorkers(snapshot, out);
  std::map<v1::JobState, uint64_t> states = {{v1::PREPARING, 0}, {v1::READY, 0}, {v1::FAILED, 0}, {v1::CANCELLED, 0}};
  for (const v1::StatusReply::JobStatus& job : snapshot.status.jobs()) {
    ++states[job.state()];
    if (job.state() == v1::PREPARING || job.state() == v1::READY) AddJob(job, snapshot, out);
  }
  for (const auto& [state, count] : states) out->Add(Metric::kJobs, count, {LabelOf(v1::JobState_Name(state))});
  for (const v1::Explanation& explanation : snapshot.explanations) AddExplanation(explanation, out);
  AddTrainers(snapshot, out);
  AddService(snapshot, out);
}

std::string CoordinatorMetricsText(const CoordinatorSnapshot& snapshot) {
  MetricSet metrics;
  AddCoordinator(snapshot, &metrics);
  return std::move(metrics).TakeText();
}

}  // namespace penstock::coordinator
