// Events of jobs and workers for people: numbers them, dates them, and limits how many the store receives.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_EVENT_LOG_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_EVENT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/runtime/clock.h"
#include "base/runtime/rate_table.h"
#include "penstock/v1/store.pb.h"
#include "server/coordinator/history_list.h"

namespace penstock::coordinator {

// Returns an event without number, time and caller. `job` or `worker` may be "".
v1::HistoryEvent EventOf(v1::HistoryEvent::Kind kind, std::string job, std::string worker, std::string message);

// Returns the event of a rejected caller. `worker` is the worker that rejected it, or "" for the coordinator.
v1::HistoryEvent RejectionOf(const v1::RejectedCaller& caller, std::string worker);

// Pure state. Not thread-safe.
class EventLog {
 public:
  // A key (history_list.h) has up to kAtOnce events at once, and then one event in each kPause. That event counts the
  // ones in between.
  static constexpr size_t kAtOnce = 8;
  static constexpr Nanos kPause = 60 * kSecond;

  // `unix_ms` returns the time of day.
  explicit EventLog(std::function<int64_t()> unix_ms) : unix_ms_(std::move(unix_ms)) {}

  // Adds the events of the store, oldest first. Call it before the other functions.
  void Restore(const google::protobuf::RepeatedPtrField<v1::HistoryEvent>& stored);
  // Adds the event, and the fact to store. While its key has no allowance, keeps only the latest event, until Tick.
  // Drops the event if kMostHeld other keys keep one.
  void Add(Nanos now, v1::HistoryEvent event, std::vector<v1::StoreEvent>* facts);
  // Adds the kept event of each key whose pause is over.
  void Tick(Nanos now, std::vector<v1::StoreEvent>* facts);

  const std::map<uint64_t, v1::HistoryEvent>& events() const { return list_.events(); }
  // Returns the number of events that were dropped because there are newer ones.
  uint64_t dropped() const { return last_ - list_.events().size(); }

 private:
  struct Held {
    v1::HistoryEvent latest;
    uint64_t count = 0;
  };
  void Put(v1::HistoryEvent event, std::vector<v1::StoreEvent>* facts);

  static constexpr size_t kMostHeld = 4096;

  const std::function<int64_t()> unix_ms_;
  HistoryList list_;
  uint64_t last_ = 0;  // number of the last event
  RateTable rate_{static_cast<double>(kSecond) / kPause, kAtOnce, kMostHeld};
  std::map<std::string, Held> held_;  // by key
  Nanos next_look_ = 0;
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_EVENT_LOG_H_
