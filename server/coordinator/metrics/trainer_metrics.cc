#include "server/coordinator/metrics/trainer_metrics.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/coordinator/metrics/coordinator_metrics.h"

namespace penstock::coordinator {
namespace {

using server::Metric;
using server::MetricSet;

// The open sessions of one rank.
struct Progress {
  uint64_t steps_behind = 0;
  Nanos report_age = 0;
};

struct JobTrainers {
  std::map<uint32_t, const TrainerTotals::Rank*> totals;  // by rank
  std::map<uint32_t, Progress> open;
};

// Adds the values of one metric for a job's ranks. `values` are in the order of the ranks.
class RankValues {
 public:
  RankValues(Metric metric, const std::string& job, MetricSet* out) : metric_(metric), job_(job), out_(out) {}
  void Add(uint32_t rank, double value) { values_.emplace_back(rank, value); }
  ~RankValues() {
    if (values_.size() <= kMostRankSeries) {
      for (const auto& [rank, value] : values_) out_->Add(metric_, value, {job_, absl::StrCat(rank)});
      return;
    }
    std::vector<double> sorted;
    for (const auto& [rank, value] : values_) sorted.push_back(value);
    std::sort(sorted.begin(), sorted.end());
    out_->Add(metric_, sorted.front(), {job_, "minimum"});
    out_->Add(metric_, sorted[sorted.size() / 2], {job_, "median"});
    out_->Add(metric_, sorted.back(), {job_, "maximum"});
  }
  RankValues(const RankValues&) = delete;
  RankValues& operator=(const RankValues&) = delete;

 private:
  const Metric metric_;
  const std::string& job_;
  MetricSet* const out_;
  std::vector<std::pair<uint32_t, double>> values_;
};

void AddHistogram(const TrainerTotals::Sums& sums, const std::string& job, std::string_view rank, MetricSet* out) {
  server::HistogramValue value;
  value.counts.assign(sums.steps_by_wait.begin(), sums.steps_by_wait.end());
  value.sum = sums.steps_waited_seconds;
  out->AddHistogram(Metric::kTrainerStepWait, TrainerTotals::kWaitBounds, value, {job, rank});
}

void AddTotals(const std::string& job, const JobTrainers& trainers, MetricSet* out) {
  TrainerTotals::Sums all;
  RankValues waited(Metric::kTrainerWaitSeconds, job, out), rows(Metric::kTrainerRows, job, out);
  for (const auto& [rank, of] : trainers.totals) {
    all.Add(of->sums);
    waited.Add(rank, of->sums.waited_seconds);
    rows.Add(rank, static_cast<double>(of->sums.rows));
    if (trainers.totals.size() <= kMostRankHistograms) AddHistogram(of->sums, job, absl::StrCat(rank), out);
  }
  if (trainers.totals.size() > kMostRankHistograms) AddHistogram(all, job, "all", out);
  out->Add(Metric::kJobReceivedBytes, all.bytes, {job});
  out->Add(Metric::kJobCopySeconds, all.copy_seconds, {job});
}

void AddOpen(const std::string& job, const JobTrainers& trainers, MetricSet* out) {
  RankValues behind(Metric::kTrainerStepsBehind, job, out), age(Metric::kTrainerReportAge, job, out);
  for (const auto& [rank, progress] : trainers.open) {
    behind.Add(rank, static_cast<double>(progress.steps_behind));
    age.Add(rank, static_cast<double>(progress.report_age) / kSecond);
  }
}

}  // namespace

void AddTrainers(const CoordinatorSnapshot& snapshot, MetricSet* out) {
  std::map<std::string, JobTrainers> jobs;
  for (const v1::StatusReply::JobStatus& job : snapshot.status.jobs()) {
    if (job.state() == v1::READY) jobs[job.name()];
  }
  for (const auto& [key, rank] : snapshot.trainer_totals) {
    if (const auto job = jobs.find(key.first); job != jobs.end()) job->second.totals[key.second] = &rank;
  }
  for (const TrainerProgress& trainer : snapshot.trainers) {
    const auto job = jobs.find(trainer.job);
    if (job == jobs.end()) continue;
    Progress& progress = job->second.open[trainer.rank];
    progress.steps_behind = std::max(progress.steps_behind, trainer.steps_behind);
    progress.report_age = std::max(progress.report_age, trainer.report_age);
  }
  for (const auto& [name, trainers] : jobs) {
    if (!trainers.totals.empty()) AddTotals(name, trainers, out);
    AddOpen(name, trainers, out);
  }
}

}  // namespace penstock::coordinator
