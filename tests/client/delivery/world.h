// A simulated world around the delivery core: workers that die, hang, lose, repeat and reorder rows, views that change,
// a trainer, and its own clock. One seed determines everything.
#ifndef PENSTOCK_TESTS_CLIENT_DELIVERY_WORLD_H_
#define PENSTOCK_TESTS_CLIENT_DELIVERY_WORLD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/delivery/delivery_tracker.h"

namespace penstock::client {

struct WorldOptions {
  uint64_t seed = 1;
  uint64_t records = 150;
  uint64_t batch = 12;
  std::vector<plan::SizeChange> batch_changes = {};
  std::shared_ptr<const plan::BatchSequence> batches = {};  // in the place of both
  plan::LastBatch last = plan::LastBatch::kDrop;
  uint64_t world_size = 1;
  uint64_t rank = 0;
  uint64_t epochs = 2;
  uint64_t window = 8;
  plan::AssignPolicy policy = plan::AssignPolicy::kByRecord;
  int workers = 4;
  Nanos row_delay = 5 * kMillisecond;   // at most this for each row, so that rows arrive in any order
  Nanos step_time = 10 * kMillisecond;  // the trainer's time for a step
  // Probabilities:
  double lose = 0;          // a requested row never arrives
  double repeat = 0;        // a row arrives twice
  double fail = 0;          // a worker currently cannot make a row
  double break_stream = 0;  // at each row, its stream breaks
  double damaged = 0;       // a worker's copy of a record is damaged
  double bad = 0;           // every copy of a record is damaged
  double away = 0;          // the coordinator is away when a client asks about a record
};

class World {
 public:
  explicit World(const WorldOptions& options);

  // Schedules an event at the given time.
  void At(Nanos when, std::function<void()> what) { events_.push({when, next_event_++, std::move(what)}); }
  void Kill(int worker);    // its streams break, and it refuses later ones
  void Hang(int worker);    // it becomes silent and keeps its streams
  void Revive(int worker);  // it runs again; streams from before stay broken
  void Drain(int worker);
  void Refuse(int worker, absl::Status why);  // ends its streams, also later ones, with `why`
  // Publishes a new view of the workers with these numbers.
  void ChangeView(std::vector<int> workers);

  // Runs until the trainer has all steps, until `limit` of the world's time, or until an error, which it returns.
  // Otherwise returns "".
  std::string Run(Nanos limit);

  DeliveryTracker& tracker() { return tracker_; }
  Nanos now() const { return now_; }
  bool finished() const { return tracker_.finished(); }
  Nanos longest_wait() const { return longest_wait_; }
  int open_streams(int worker) const;
  // Returns the largest number of fetched rows that were unanswered on one stream at a time.
  uint64_t most_fetched() const { return most_fetched_; }
  uint64_t rows_sent_by(int worker) const { return sent_[worker]; }
  uint64_t steps_taken() const { return taken_; }
  uint64_t decided() const { return decided_; }
  uint64_t decided_alone() const { return stored_.size(); }

 private:
  struct Event {
    Nanos when;
    uint64_t number;
    std::function<void()> what;
    bool operator<(const Event& o) const { return when != o.when ? when > o.when : number > o.number; }
  };
  struct Stream {
    int worker = 0;
    bool open = true;
    std::set<std::pair<uint64_t, uint64_t>> views;
    std::set<uint64_t> decided;
  };

  double Uniform() { return std::uniform_real_distribution<double>()(random_); }
  Nanos Delay(Nanos most) { return 1 + static_cast<Nanos>(Uniform() * static_cast<double>(most)); }
  void Wrong(const std::string& what) {
    if (wrong_.empty()) wrong_ = what;
  }
  void CarryOut();
  void SendRow(uint64_t stream, uint64_t epoch, uint64_t row, bool fetched = false);
  void Deliver(uint64_t stream, uint64_t epoch, uint64_t row, bool fails);
  bool IsDamaged(int worker, uint64_t record) const;
  // Whether a worker of the view has an intact copy and has been up for `up_for`.
  bool IsIntact(uint64_t record, Nanos up_for) const;
  void Judge(uint64_t record);
  void EndStream(uint64_t stream, const absl::Status& why);
  void Trainer();
  void GrantRows(uint64_t stream, const SendGrant& grant);

  const WorldOptions options_;
  std::mt19937_64 random_;
  std::shared_ptr<const plan::DataOrder> order_;
  plan::Steps steps_;
  DeliveryTracker tracker_;
  std::priority_queue<Event> events_;
  uint64_t next_event_ = 0;
  Nanos now_ = 0;
  std::string wrong_;

  std::vector<bool> dead_, hung_, drained_, in_view_;
  std::vector<Nanos> up_since_;
  std::set<uint64_t> stored_;  // the tracker's own decisions
  uint64_t decided_ = 0;       // number of the coordinator's decisions
  std::vector<absl::Status> refuses_;
  std::vector<uint64_t> sent_;
  std::map<uint64_t, Stream> streams_;
  uint64_t view_number_ = 0;
  std::map<std::pair<uint64_t, uint64_t>, std::shared_ptr<const plan::View>> views_;

  std::map<uint64_t, BookStep> booked_;                  // by ordinal
  std::map<std::pair<uint64_t, uint64_t>, int> filled_;  // how often, by (epoch, row)
  plan::Cursor expected_;
  uint64_t taken_ = 0;
  std::map<uint64_t, uint64_t> fetched_;  // by stream
  uint64_t most_fetched_ = 0;
  Nanos waiting_since_ = -1;
  Nanos busy_until_ = 0;
  Nanos longest_wait_ = 0;
};

}  // namespace penstock::client

#endif  // PENSTOCK_TESTS_CLIENT_DELIVERY_WORLD_H_
