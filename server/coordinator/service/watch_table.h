// Long polls, by the job that they follow and by the time at which they end. A change costs time only for the watches
// that it concerns, and a poll that ends empty costs almost nothing. Plain state.
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

namespace penstock::coordinator {

class WatchTable {
 public:
  // Adds a watch of `job`, or of all jobs if it is "", until `due`, and marks it for a check.
  void Add(uint64_t id, const std::string& job, Nanos due);
  void Remove(uint64_t id);

  // Marks the watches of the job and of all jobs for a check.
  void JobChanged(const std::string& job);
  // Marks the watches of all jobs for a check.
  void WakeAllJobs();

  // Returns a watch that is marked for a check, and unmarks it. The watch that was marked first comes first.
  std::optional<uint64_t> TakeConcerned();
  // Removes and returns an unmarked watch that is due, which ends empty. It leaves marked watches to TakeConcerned, so
  // that they do not miss a change.
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
  std::set<std::pair<Nanos, uint64_t>> by_due_;  // without marked watches
  std::deque<uint64_t> concerned_;               // also has some removed ones
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_SERVICE_WATCH_TABLE_H_
