// Sums of the stages of all jobs, for metrics. They do not decrease when a job ends. Pure.
#ifndef PENSTOCK_SERVER_WORKER_METRICS_STAGE_SUMS_H_
#define PENSTOCK_SERVER_WORKER_METRICS_STAGE_SUMS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pipeline/loader/job_times.h"

namespace penstock::worker {

// Not thread-safe.
class StageSums {
 public:
  // Stages that are summed apart; the time of others is "other".
  static constexpr size_t kMostStages = 16;

  struct Sums {
    uint64_t timed_rows = 0;
    std::map<std::string, double> seconds;  // by stage
  };

  // Adds the growth since the last call. The work of a job after the last call before its end is not counted. If a
  // job's time falls, as at the end of a submission whose replacement runs, it grows again only above its highest
  // value. Returns the sums.
  const Sums& Add(const std::vector<loader::JobTimes>& jobs);

 private:
  std::map<std::string, Sums> highest_;  // by job that the last call had
  Sums sums_;
};

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_METRICS_STAGE_SUMS_H_
