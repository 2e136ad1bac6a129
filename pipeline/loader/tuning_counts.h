// A loader's counters for its tuning. Pure.
#ifndef PENSTOCK_PIPELINE_LOADER_TUNING_COUNTS_H_
#define PENSTOCK_PIPELINE_LOADER_TUNING_COUNTS_H_

#include <vector>

#include "base/runtime/clock.h"
#include "pipeline/loader/job_times.h"
#include "pipeline/loader/loader_stats.h"
#include "pipeline/tuning/tuning_window.h"

namespace penstock::loader {

struct TuningCounts {
  Nanos at = 0;
  LoaderStats stats;
  std::vector<JobTimes> jobs;
  double other_cpu_seconds = 0;  // of other processes on this host
};

// Returns the counts of one loader from `before` to `after`. Each idle thread counts for all jobs at once. Idle threads
// waited for storage or memory if the rows of any job did. They had no work only while no active job had any.
tuning::TuningWindow WindowBetween(const TuningCounts& before, const TuningCounts& after);

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_TUNING_COUNTS_H_
