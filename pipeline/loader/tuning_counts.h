// A loader's counters as whoever tunes it sees them. Pure.
#ifndef PENSTOCK_PIPELINE_LOADER_TUNING_COUNTS_H_
#define PENSTOCK_PIPELINE_LOADER_TUNING_COUNTS_H_

#include <vector>

#include "base/runtime/clock.h"
#include "pipeline/loader/job_times.h"
#include "pipeline/loader/loader_stats.h"
#include "pipeline/tuning/tuning_window.h"

namespace penstock {

struct TuningCounts {
  Nanos at = 0;
  LoaderStats stats;
  std::vector<JobTimes> jobs;
  double other_cpu_seconds = 0;  // of other processes on this host
};

// What was counted from `before` to `after`, of one loader. Idle threads are idle for each job at once: they waited for
// storage or memory if any job's rows did, and had nothing to do only as far as no job had, of those that were read.
TuningWindow WindowBetween(const TuningCounts& before, const TuningCounts& after);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_TUNING_COUNTS_H_
