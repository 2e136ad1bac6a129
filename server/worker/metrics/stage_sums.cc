#include "server/worker/metrics/stage_sums.h"

#include <algorithm>
#include <utility>

namespace penstock::worker {

const StageSums::Sums& StageSums::Add(const std::vector<loader::JobTimes>& jobs) {
  std::map<std::string, Sums> now;
  for (const loader::JobTimes& job : jobs) {  // jobs of one name, such as a submission and its replacement, add up
    Sums& of = now[job.job];
    of.timed_rows += job.timed_rows;
    for (const loader::JobTimes::Stage& stage : job.stages) of.seconds[stage.name] += stage.seconds;
  }
  for (auto& [job, of] : now) {
    Sums& highest = highest_[job];
    of.timed_rows = std::max(of.timed_rows, highest.timed_rows);
    sums_.timed_rows += of.timed_rows - highest.timed_rows;
    for (auto& [stage, seconds] : of.seconds) {
      const bool own = sums_.seconds.contains(stage) || sums_.seconds.size() < kMostStages;
      seconds = std::max(seconds, highest.seconds[stage]);
      sums_.seconds[own ? stage : "other"] += seconds - highest.seconds[stage];
    }
  }
  highest_ = std::move(now);
  return sums_;
}

}  // namespace penstock::worker
