// Who waits for what: long polls by the job that they follow and by the time at which they end, so that a change costs
// those whom it concerns, and a poll that ends without one costs next to nothing. Plain state.
#ifndef PENSTOCK_SERVER_COORDINATOR_SERVICE_WATCH_TABLE_H_
#define PENSTOCK_SERVER_COORDINATOR_SERVICE_WATCH_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/runtime/clock.h"

namespace penstock {

class WatchTable {
 public:
  // Follows `job`, or all jobs where it is "", until `due`. It is to be looked at.
  void Add(uint64_t id, const std::string& job, Nanos due);
  void Remove(uint64_t id);

  // Those who follow the job, or all jobs, are to be looked at.
  void JobChanged(const std::string& job);
  // Those who follow all jobs are to be looked at.
  void WakeAllJobs();

  // One that is to be looked at, each once; those who have waited longest first.
  std::optional<uint64_t> TakeConcerned();
  // One whose time is over, and which nothing concerns that it was not looked at for: it ends empty. One that is to be
  // looked at is left to TakeConcerned, lest it miss what it is to be looked at for.
  std::optional<uint64_t> TakeDue(Nanos now);
  bool IsDue(uint64_t id, Nanos now) const;

  bool any_concerned() const { return !concerned_.empty(); }
  size_t size() const { return watches_.size(); }

 private:
  struct Watch {
    std::string job;
    Nanos due = 0;
    bool concerned = false;
  };
  void Mark(uint64_t id);

  std::unordered_map<uint64_t, Watch> watches_;
  std::unordered_map<std::string, std::set<uint64_t>> by_job_;
  std::set<std::pair<Nanos, uint64_t>> by_due_;  // without those that are to be looked at
  std::deque<uint64_t> concerned_;               // and some that are there no more
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_SERVICE_WATCH_TABLE_H_
