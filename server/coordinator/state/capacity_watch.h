// Decides when the shares of workers follow their measured capacities. It cuts a share soon and raises a share
// cautiously. Pure state.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_CAPACITY_WATCH_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_CAPACITY_WATCH_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/runtime/clock.h"

namespace penstock::coordinator {

struct CapacityOptions {
  // A worker is out of balance if its ratio of measured capacity to share capacity and the common ratio of the workers
  // differ by a factor of more than 1 + imbalance. Smaller differences are noise.
  double imbalance = 0.25;
  // A worker that owes rows for less than this fraction of the time delays no trainer, and its share is not cut. Ranges
  // therefore do not move for a job that a link limits. A worker with a slow trainer may also owe rows for seconds,
  // because rows are granted in bursts. Its trainers then report that they do not wait.
  double saturated = 0.6;
  Nanos cut_after = 2500 * kMillisecond;  // duration of an imbalance before a cut
  // A worker that became faster gets a larger share after `raise_after`. A worker that owes no rows after a cut gets
  // one after `probe_after`. Both require that some worker is saturated. Each cut within `most` of the worker's last
  // raise doubles these times, up to `most`. They are reset once `most` has passed since that raise.
  Nanos raise_after = 5 * kSecond;
  Nanos probe_after = 20 * kSecond;
  Nanos most = 300 * kSecond;
  double least_share = 0.05;  // fraction of the mean capacity; a slow worker keeps enough rows to be measured
};

class CapacityWatch {
 public:
  explicit CapacityWatch(const CapacityOptions& options) : options_(options) {}

  struct Worker {
    std::string id;
    double threads = 1;
    // Capacity on which its share is based. 0: none, so each of its threads counts as much as a thread of the other
    // workers.
    double used = 0;
    double measured = 0;  // rows per second; 0: unknown
    double owing = 0;     // fraction of the time in which it owed rows; 0 if no trainer waits
  };
  // Returns the capacities on which to base new shares, for all workers of known capacity. Returns an empty map if the
  // shares should not change. `now` must not decrease. Call it a few times a second, with all live workers.
  std::map<std::string, double> Look(Nanos now, const std::vector<Worker>& workers);

 private:
  struct History {
    Nanos slow_since = -1;
    Nanos fast_since = -1;
    Nanos idle_since = -1;
    double fast = 0;  // smoothed measurement since fast_since
    bool cut = false;
    Nanos raised_at = -1;
    int relapses = 0;
    uint64_t looked = 0;
  };
  // Returns `from`, doubled for each relapse, and at most `most`.
  Nanos After(Nanos from, int relapses) const;

  const CapacityOptions options_;
  std::map<std::string, History> history_;
  Nanos last_ = 0;
  uint64_t looks_ = 0;
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_CAPACITY_WATCH_H_
