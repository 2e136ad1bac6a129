#include "server/worker/metrics/stage_sums.h"

#include <utility>

#include "base/counter_growth.h"

namespace penstock::worker {

const StageSums::Sums& StageSums::Add(const std::vector<loader::JobTimes>& jobs) {
  std::map<std::string, Sums> now;
  for (const loader::JobTimes& job : jobs) {  // jobs of one name, such as a submission and its replacement, add up
    Sums& of = now[job.job];
    of.timed_rows += job.timed_rows;
    for (const loader::JobTimes::Stage& stage : job.stages) of.seconds[stage.name] += stage.seconds;
  }
  for (const auto& [job, of] : now) {
    Sums& last = last_[job];
    sums_.timed_rows += CounterGrowth(last.timed_rows, of.timed_rows);
    for (const auto& [stage, seconds] : of.seconds) {
      const bool own = sums_.seconds.contains(stage) || sums_.seconds.size() < kMostStages;
      sums_.seconds[own ? stage : "other"] += CounterGrowth(last.seconds[stage], seconds);
    }
  }
  last_ = std::move(now);
  return sums_;
}

}  // namespace penstock::worker
