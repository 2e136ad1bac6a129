#include "server/coordinator/state/job_totals.h"

#include "base/counter_growth.h"

namespace penstock::coordinator {
namespace {

// The length of the list from which a worker leaves out jobs (kMostJobLoads in server/worker/link/job_loads.h).
constexpr int kFullList = 16;

const v1::JobLoad* Find(const v1::WorkerLoad& load, const std::string& job) {
  for (const v1::JobLoad& of : load.jobs()) {
    if (of.job() == job) return &of;
  }
  return nullptr;
}

double SecondsOf(const v1::JobLoad& load, const std::string& stage) {
  for (const v1::StageSeconds& of : load.stages()) {
    if (of.name() == stage) return of.seconds();
  }
  return 0;
}

void AddGrown(const v1::JobLoad& before, const v1::JobLoad& now, JobTotals::Sums* sums) {
  sums->rows += CounterGrowth(before.rows(), now.rows());
  sums->timed_rows += CounterGrowth(before.timed_rows(), now.timed_rows());
  sums->background_reads += CounterGrowth(before.background_reads(), now.background_reads());
  sums->bytes_read += CounterGrowth(before.bytes_read(), now.bytes_read());
  sums->bytes_sent += CounterGrowth(before.bytes_sent(), now.bytes_sent());
  sums->making_seconds += CounterGrowth(before.making_seconds(), now.making_seconds());
  sums->reading_seconds += CounterGrowth(before.reading_seconds(), now.reading_seconds());
  sums->storage_seconds += CounterGrowth(before.storage_seconds(), now.storage_seconds());
  sums->memory_seconds += CounterGrowth(before.memory_seconds(), now.memory_seconds());
  sums->unrequested_seconds += CounterGrowth(before.unrequested_seconds(), now.unrequested_seconds());
  sums->background_read_seconds += CounterGrowth(before.background_read_seconds(), now.background_read_seconds());
  sums->send_seconds += CounterGrowth(before.send_seconds(), now.send_seconds());
  sums->full_seconds += CounterGrowth(before.full_seconds(), now.full_seconds());
  if (now.timed_rows() == before.timed_rows()) return;
  for (const v1::StageSeconds& stage : now.stages()) {
    const bool own = sums->stages.contains(stage.name()) || sums->stages.size() < JobTotals::kMostStages;
    sums->stages[own ? stage.name() : "other"] += CounterGrowth(SecondsOf(before, stage.name()), stage.seconds());
  }
}

}  // namespace

void JobTotals::Add(const v1::WorkerLoad& before, const v1::WorkerLoad& now,
                    absl::FunctionRef<bool(const std::string& job)> exists) {
  for (const v1::JobLoad& load : now.jobs()) {
    const v1::JobLoad* const then = Find(before, load.job());
    if (then == nullptr && before.jobs_size() >= kFullList) continue;
    if (!exists(load.job())) continue;
    AddGrown(then == nullptr ? v1::JobLoad::default_instance() : *then, load, &jobs_[load.job()]);
  }
}

}  // namespace penstock::coordinator
