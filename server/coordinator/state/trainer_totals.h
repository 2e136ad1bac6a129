// Sums of the reports of trainers, by job and rank, for metrics. A sum continues when the rank's next session opens.
// Pure state.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_TRAINER_TOTALS_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_TRAINER_TOTALS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "server/coordinator/state/session_table.h"

namespace penstock::coordinator {

// Not thread-safe.
class TrainerTotals {
 public:
  // Upper bounds of a step's wait, in seconds.
  static constexpr std::array<double, 7> kWaitBounds = {0.001, 0.005, 0.025, 0.1, 0.5, 2, 10};
  // A rank without a report for this long is forgotten.
  static constexpr Nanos kKeep = 240 * kSecond;
  // Ranks of all jobs; more are not counted.
  static constexpr size_t kMostRanks = 16384;

  struct Sums {
    uint64_t rows = 0;
    uint64_t bytes = 0;  // received
    double waited_seconds = 0;
    double copy_seconds = 0;
    // The steps that the trainer took, by their wait. All steps of a report count with their mean wait. The wait of
    // reports without a step counts for the next report that has steps.
    std::array<uint64_t, kWaitBounds.size() + 1> steps_by_wait = {};
    double steps_waited_seconds = 0;

    void Add(const Sums& other);
  };
  // The counters of a session's last report.
  struct Counters {
    uint64_t rows = 0;
    uint64_t bytes = 0;
    uint64_t steps = 0;
    double waited_seconds = 0;
    double copy_seconds = 0;
    Nanos reported = 0;
  };
  struct Rank {
    Sums sums;
    std::map<std::string, Counters> sessions;  // by id; without the sessions that another one resumed
    uint32_t world_size = 1;
    Nanos last_report = 0;
    double step_waited = 0;  // wait for the next step so far
  };
  using Key = std::pair<std::string, uint32_t>;  // job, rank

  // Adds the growth from the session's last report to `report`. The first report of a session that resumes another one
  // adds the growth from the last report of the other one. If that report is unknown, for example after a restart of
  // the coordinator, it adds all that the session reports. Sessions of one job and rank, such as those of two runs,
  // count together.
  void Add(Nanos now, const SessionEntry& session, const v1::ReportSessionRequest& report);
  // Forgets ranks without recent reports. Call it with each tick; most calls do nothing.
  void Tick(Nanos now);

  const std::map<Key, Rank>& ranks() const { return ranks_; }

 private:
  static Counters CountersOf(Nanos now, const v1::ReportSessionRequest& report);
  // Returns the counters of the last report of the session, or of the session that it resumes.
  static Counters& LastOf(const SessionEntry& session, Rank* rank);

  std::map<Key, Rank> ranks_;
  Nanos next_look_ = 0;
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_TRAINER_TOTALS_H_
