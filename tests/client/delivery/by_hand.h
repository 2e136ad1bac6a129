// A delivery core whose workers answer at the test's command.
#ifndef PENSTOCK_TESTS_CLIENT_DELIVERY_BY_HAND_H_
#define PENSTOCK_TESTS_CLIENT_DELIVERY_BY_HAND_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/delivery/delivery_tracker.h"

namespace penstock::client {

// A tracker with a window of two steps. A step has 8 rows by default. The order is not shuffled: record n is row n of
// epoch 0.
class ByHand {
 public:
  struct Fetch {
    std::string worker;
    std::vector<uint64_t> rows, decided;
  };

  explicit ByHand(int workers, uint64_t step = 8, uint64_t steps = 4,
                  std::map<std::string, std::string> hosts_of_workers = {})
      : hosts(std::move(hosts_of_workers)) {
    TrackerOptions options;
    options.window_steps = 2;
    options.order = *plan::DataOrder::Create({step * steps}, {.shuffle = plan::Shuffle::kNone}, std::nullopt);
    tracker.emplace(*plan::Steps::Create(step * steps, step, plan::LastBatch::kDrop, 1), options);
    SetView(workers, 1);
  }
  void SetView(int workers, uint64_t number) {
    auto view = std::make_shared<plan::View>();
    view->n = number;
    view->key_space = tracker_records();
    for (uint32_t i = 0; i < static_cast<uint32_t>(workers); ++i) {
      const std::string name = "w" + std::to_string(i);
      const std::string host = hosts.count(name) > 0 ? hosts.at(name) : "host" + std::to_string(i);
      view->workers.push_back({name, host + ":1"});
    }
    // The first worker owns all keys.
    view->ranges = {{0, view->key_space, 0, workers > 1 ? 1u : 0u}};
    tracker->ViewChanged(view, now);
    CarryOut();
  }
  void CoordinatorAwayForLong() {
    tracker->CoordinatorAway(now - RecordCopies::kWaitForCoordinator);
    tracker->Tick(now);
  }
  void CarryOut() {
    while (tracker->has_commands()) {
      for (const Command& command : tracker->TakeCommands()) {
        ++commands;
        if (const auto* open = std::get_if<OpenStream>(&command)) {
          stream[open->worker] = open->stream;
          if (down.count(open->worker) > 0) {
            tracker->StreamBroken(open->stream, absl::UnavailableError("refused"), now);
          } else {
            tracker->Heard(open->stream, now);
          }
        } else if (const auto* fetch = std::get_if<SendFetch>(&command)) {
          for (const auto& [worker, number] : stream) {
            if (number != fetch->stream) continue;
            fetched[worker] += fetch->rows.size();
            fetches.push_back({worker, fetch->rows, fetch->decided});
          }
          last_fetched = fetch->rows;
        } else if (const auto* ask = std::get_if<AskVerdicts>(&command)) {
          asked.insert(asked.end(), ask->records.begin(), ask->records.end());
        } else if (const auto* decision = std::get_if<StoreDecision>(&command)) {
          EXPECT_EQ(stored.count(decision->record), 0u);
          stored[decision->record] = decision->message;
        }
      }
    }
  }
  DeliveryTracker::Slot Arrive(const std::string& worker, uint64_t row) {
    DeliveryTracker::Slot slot;
    EXPECT_EQ(tracker->RowArrived(stream.at(worker), 0, row, now, &slot), DeliveryTracker::Claim::kYours);
    return slot;
  }
  // The worker answers for a row: with the row if `status` is OK, otherwise with the error.
  void Answer(const std::string& worker, uint64_t row, absl::Status status) {
    const DeliveryTracker::Slot slot = Arrive(worker, row);
    if (status.ok()) {
      tracker->Filled(slot, stream.at(worker));
    } else {
      tracker->Failed(slot, stream.at(worker), std::move(status), now);
    }
    CarryOut();
  }
  // The worker reports that its copy of a record that the row needs is damaged.
  void Damaged(const std::string& worker, uint64_t row, uint64_t record) {
    tracker->Failed(Arrive(worker, row), stream.at(worker),
                    absl::DataLossError("record " + std::to_string(record) + ": wrong CRC"), now, record);
    CarryOut();
  }
  // The row arrives with the content of `source`, or of its own record. Returns whether the tracker accepted it.
  bool Content(const std::string& worker, uint64_t row, std::optional<uint64_t> source = std::nullopt) {
    const DeliveryTracker::Slot slot = Arrive(worker, row);
    const bool accepted = tracker->Accepts(slot, stream.at(worker), source, now);
    if (accepted) tracker->Filled(slot, stream.at(worker));
    CarryOut();
    return accepted;
  }
  // Breaks the worker's stream, and rejects its further streams until Revive().
  void Lose(const std::string& worker) {
    down.insert(worker);
    tracker->StreamBroken(stream.at(worker), absl::UnavailableError("reset"), now);
    CarryOut();
  }
  void Revive(const std::string& worker) { down.erase(worker); }
  void Pass(Nanos length) {
    for (const Nanos until = now + length; now < until;) {
      now += 100 * kMillisecond;
      tracker->Tick(now);
      CarryOut();
    }
  }
  uint64_t tracker_records() const { return 32; }

  Nanos now = kSecond;
  const std::map<std::string, std::string> hosts;  // of workers that share a host
  std::optional<DeliveryTracker> tracker;
  std::set<std::string> down;
  std::map<std::string, uint64_t> stream;
  std::map<std::string, uint64_t> fetched;
  std::vector<Fetch> fetches;
  std::vector<uint64_t> last_fetched;
  std::vector<uint64_t> asked;             // requested verdicts, in order
  std::map<uint64_t, std::string> stored;  // the tracker's own decisions
  int commands = 0;
};

}  // namespace penstock::client

#endif  // PENSTOCK_TESTS_CLIENT_DELIVERY_BY_HAND_H_
