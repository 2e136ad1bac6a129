// When the shares of workers follow what they can make: cut soon, given back with care. Pure state.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_CAPACITY_WATCH_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_CAPACITY_WATCH_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/runtime/clock.h"

namespace penstock {

struct CapacityOptions {
  // A worker whose capacity, against what its share was made for, differs from the others' by more than this fraction
  // is out of balance. Less is noise.
  double imbalance = 0.25;
  // A worker that owes rows for less than this part of the time holds nobody up: ranges do not move for the sake of a
  // job that a link holds back. (Rows are granted in bursts, so that a worker behind a slow trainer owes them too, for
  // seconds: such a one is told by its trainers, who do not wait.)
  double saturated = 0.6;
  Nanos cut_after = 2500 * kMillisecond;  // out of balance without a break
  // A worker that has become faster, or has nothing to show it with, gets more after so long; doubled, up to the
  // most, each time that this turns out wrong, and forgiven when it has not for that most.
  Nanos raise_after = 5 * kSecond;
  Nanos probe_after = 20 * kSecond;
  Nanos most = 300 * kSecond;
  double least_share = 0.05;  // of the mean capacity: a slow worker keeps rows to be measured by
};

class CapacityWatch {
 public:
  explicit CapacityWatch(const CapacityOptions& options) : options_(options) {}

  struct Worker {
    std::string id;
    double threads = 1;
    double used = 0;      // the capacity that its share was made for; 0: none, as good as others with so many threads
    double measured = 0;  // rows per second; 0: unknown
    double owing = 0;     // part of the time in which it owed rows; 0 where no trainer waits
  };
  // Capacities to make shares with from now on, of all workers with one: not empty only when the shares should change.
  // `now` must not go back. To be asked a few times a second, with all live workers.
  std::map<std::string, double> Look(Nanos now, const std::vector<Worker>& workers);

 private:
  struct History {
    Nanos slow_since = -1;
    Nanos fast_since = -1;
    Nanos idle_since = -1;
    double fast = 0;  // what it measured meanwhile, the latest weighing most
    bool cut = false;
    Nanos raised_at = -1;
    int relapses = 0;
    uint64_t looked = 0;
  };
  // What `from` has become after it turned out wrong so many times.
  Nanos After(Nanos from, int relapses) const;

  const CapacityOptions options_;
  std::map<std::string, History> history_;
  Nanos last_ = 0;
  uint64_t looks_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_CAPACITY_WATCH_H_
