// The last events of jobs and workers, oldest first.
#ifndef PENSTOCK_SERVER_COORDINATOR_HISTORY_LIST_H_
#define PENSTOCK_SERVER_COORDINATOR_HISTORY_LIST_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "penstock/v1/history.pb.h"

namespace penstock::coordinator {

// Limits of the events that coordinator and store keep, of all events and of those with one key. The oldest events are
// dropped first. So events that are frequent displace events of their own kind, and hardly any other.
constexpr size_t kMostEvents = 4096;
constexpr size_t kMostEventsOfKey = 64;

// Returns the key of the event: its job, worker and kind.
std::string HistoryKey(const v1::HistoryEvent& event);

// Pure state. Not thread-safe.
class HistoryList {
 public:
  // Adds an event with the largest number so far, and drops events above the limits.
  void Add(v1::HistoryEvent event);
  // Returns the events by number.
  const std::map<uint64_t, v1::HistoryEvent>& events() const { return events_; }

 private:
  void Drop(uint64_t number);

  std::map<uint64_t, v1::HistoryEvent> events_;
  std::map<std::string, std::deque<uint64_t>> numbers_;  // by key; not empty
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_HISTORY_LIST_H_
