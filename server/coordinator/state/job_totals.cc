#include "server/coordinator/state/job_totals.h"

#include <algorithm>
#include <string>

namespace penstock::coordinator {
namespace {

// The length of the list from which a worker leaves out jobs (kMostJobLoads in server/worker/link/job_loads.h).
constexpr int kFullList = 16;
// The sum of the stages above JobTotals::kMostStages.
constexpr char kOther[] = "other";

// Raises `highest` to `now`, and returns by how much.
template <typename T>
T Raise(T now, T* highest) {
  if (!(now > *highest)) return T{};
  const T growth = now - *highest;
  *highest = now;
  return growth;
}

// Raises the highest counters of a worker's job to those of `now`, and adds the growth to `sums`.
void AddGrown(const v1::JobLoad& now, JobTotals::Sums* highest, JobTotals::Sums* sums) {
  sums->rows += Raise<uint64_t>(now.rows(), &highest->rows);
  sums->timed_rows += Raise<uint64_t>(now.timed_rows(), &highest->timed_rows);
  sums->background_reads += Raise<uint64_t>(now.background_reads(), &highest->background_reads);
  sums->bytes_read += Raise<uint64_t>(now.bytes_read(), &highest->bytes_read);
  sums->bytes_sent += Raise<uint64_t>(now.bytes_sent(), &highest->bytes_sent);
  sums->making_seconds += Raise(now.making_seconds(), &highest->making_seconds);
  sums->reading_seconds += Raise(now.reading_seconds(), &highest->reading_seconds);
  sums->storage_seconds += Raise(now.storage_seconds(), &highest->storage_seconds);
  sums->memory_seconds += Raise(now.memory_seconds(), &highest->memory_seconds);
  sums->capped_seconds += Raise(now.capped_seconds(), &highest->capped_seconds);
  sums->unrequested_seconds += Raise(now.unrequested_seconds(), &highest->unrequested_seconds);
  sums->background_read_seconds += Raise(now.background_read_seconds(), &highest->background_read_seconds);
  sums->send_seconds += Raise(now.send_seconds(), &highest->send_seconds);
  sums->full_seconds += Raise(now.full_seconds(), &highest->full_seconds);
  sums->computing_seconds = std::max(sums->computing_seconds, sums->making_seconds - sums->reading_seconds);
  const auto has_own = [](const JobTotals::Sums& of, const std::string& stage) {
    return stage != kOther && (of.stages.contains(stage) || of.stages.size() < JobTotals::kMostStages);
  };
  double others = 0;
  for (const v1::StageSeconds& stage : now.stages()) {
    if (!has_own(*highest, stage.name())) {
      others += stage.seconds();
      continue;
    }
    const double growth = Raise(stage.seconds(), &highest->stages[stage.name()]);
    sums->stages[has_own(*sums, stage.name()) ? stage.name() : kOther] += growth;
  }
  if (others > 0) sums->stages[kOther] += Raise(others, &highest->stages[kOther]);
}

}  // namespace

void JobTotals::Add(const std::string& worker, uint64_t incarnation, const v1::WorkerLoad& load,
                    absl::FunctionRef<bool(const std::string& job)> exists) {
  const auto [found, first] = workers_.try_emplace(worker);
  Worker& of = found->second;
  if (first || of.incarnation != incarnation) of = {incarnation, !first, {}};
  for (const v1::JobLoad& job : load.jobs()) {
    if (!exists(job.job())) continue;
    const auto [highest, added] = of.highest.try_emplace(job.job());
    Sums start;
    AddGrown(job, &highest->second, added && !of.starts_at_zero ? &start : &jobs_[job.job()]);
  }
  // A full first list may lack jobs that the worker has served for long.
  if (first && load.jobs_size() < kFullList) of.starts_at_zero = true;
}

void JobTotals::KeepWorkers(absl::FunctionRef<bool(const std::string& worker)> exists) {
  std::erase_if(workers_, [&](const auto& worker) { return !exists(worker.first); });
}

void JobTotals::Forget(const std::string& job) {
  jobs_.erase(job);
  for (auto& [id, worker] : workers_) worker.highest.erase(job);
}

}  // namespace penstock::coordinator
