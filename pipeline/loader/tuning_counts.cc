#include "pipeline/loader/tuning_counts.h"

#include <algorithm>
#include <optional>

namespace penstock::loader {
namespace {

double More(double after, double before) { return std::max(0.0, after - before); }

}  // namespace

tuning::TuningWindow WindowBetween(const TuningCounts& before, const TuningCounts& after) {
  tuning::TuningWindow window;
  window.seconds = static_cast<double>(after.at - before.at) / kSecond;
  window.rows = static_cast<double>(after.stats.rows - before.stats.rows);
  window.reads = static_cast<double>(after.stats.storage_reads - before.stats.storage_reads);
  window.read_seconds = More(after.stats.storage_seconds, before.stats.storage_seconds);
  window.cpu_seconds = More(after.stats.cpu_seconds, before.stats.cpu_seconds);
  window.other_seconds = More(after.other_cpu_seconds, before.other_cpu_seconds);
  std::optional<double> unrequested;
  const JobTimes nothing;
  for (const JobTimes& job : after.jobs) {
    const auto known = std::find_if(before.jobs.begin(), before.jobs.end(),
                                    [&job](const JobTimes& other) { return other.job == job.job; });
    const JobTimes& then = known != before.jobs.end() ? *known : nothing;
    const double making = More(job.making_seconds, then.making_seconds);
    const double storage = More(job.storage_seconds, then.storage_seconds);
    const double memory = More(job.memory_seconds, then.memory_seconds);
    window.busy_seconds += making;
    window.blocked_seconds += More(job.reading_seconds, then.reading_seconds);
    window.storage_seconds = std::max(window.storage_seconds, storage);
    window.memory_seconds = std::max(window.memory_seconds, memory);
    if (making + storage + memory <= 0) continue;  // no session reads the job in this window
    const double idle = More(job.unrequested_seconds, then.unrequested_seconds);
    unrequested = std::min(unrequested.value_or(idle), idle);
  }
  window.unrequested_seconds = unrequested.value_or(0);
  return window;
}

}  // namespace penstock::loader
