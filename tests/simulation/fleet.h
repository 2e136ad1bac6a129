// A coordinator's state, the delivery cores of trainers, and workers of any speed, on virtual time. Tests of it show
// how shares and fetches follow the speed of the workers. It has no thread, lock or socket. Only the network and the
// time of rows are simulated; the code under test is the real one.
#ifndef PENSTOCK_TESTS_SIMULATION_FLEET_H_
#define PENSTOCK_TESTS_SIMULATION_FLEET_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "client/delivery/delivery_tracker.h"
#include "server/coordinator/state/coordinator_state.h"
#include "server/worker/link/load_meter.h"

namespace penstock::simulation {

struct FleetOptions {
  uint64_t seed = 1;
  int workers = 3;
  int threads = 4;       // threads of each worker
  double rate = 440;     // rows per second of each worker, with all threads
  double noise = 0;      // largest deviation of a row's cost, as a fraction
  int readers = 1;       // each rank 0 of 1
  uint64_t batch = 256;  // rows of a step
  uint64_t window = 16;
  Nanos step_time = 0;       // the trainer's time for a step
  double link_rate = 0;      // rows per second that all links carry together; 0: no limit
  uint64_t outbox = 100000;  // rows that a worker keeps for a session when the link is full
  Nanos first_row = 0;       // time until a worker's first row (cold indexes)
  uint64_t records = 16000;
  bool coordinator = true;  // false: unreachable after the readers have a view
};

class Fleet {
 public:
  explicit Fleet(const FleetOptions& options);

  // Advances the time.
  void Run(Nanos length);
  // Runs and returns the rows per second that the trainers took.
  double RateOver(Nanos length);

  void SetRate(int worker, double rows_per_second) { workers_[worker].rate = rows_per_second; }
  void SetAllRates(double rows_per_second);
  // The worker runs for the first fifth of each 100 ms only, like a process that is stopped 80 ms in 100.
  void SetStopped(int worker, bool stopped) { workers_[worker].stopped = stopped; }
  // While set, no message passes to or from the worker. Held messages arrive afterwards.
  void SetHole(int worker, bool hole) { workers_[worker].hole = hole; }

  Nanos now() const { return now_; }
  // Returns the fraction of the records that the worker owns.
  double ShareOf(int worker);
  uint64_t view_number();
  v1::WorkerStatus StatusOf(int worker);
  bool IsLive(int worker) { return StatusOf(worker).state() == v1::WorkerStatus::LIVE; }
  client::DeliveryTracker& tracker(int reader) { return *readers_[reader].tracker; }
  uint64_t fetched_rows() const;
  uint64_t duplicate_rows() const;
  uint64_t rows_taken() const;
  // Returns the last violation of a contract, or "".
  const std::string& wrong() const { return wrong_; }

 private:
  struct Todo {
    int reader = 0;
    uint64_t stream = 0;
    uint64_t epoch = 0;
    uint64_t row = 0;
  };
  using Order = std::tuple<bool, uint64_t, uint64_t, uint64_t>;  // granted, epoch, row, arrival
  struct Queue {
    std::map<Order, Todo> rows;
    std::multimap<uint64_t, Todo> made;  // rows that wait for the link
  };
  struct Worker {
    double rate = 0;
    double credit = 0;
    bool hole = false;
    bool stopped = false;  // 80 ms of each 100
    Nanos cold_until = -1;
    std::map<std::pair<int, uint64_t>, Queue> sessions;  // by reader and stream
    std::pair<int, uint64_t> turn;
    loader::LoaderStats stats;
    worker::LoadMeter meter;
    Nanos next_beat = 0;
    std::vector<std::function<void()>> held_up;
  };
  struct Stream {
    int worker = 0;
    bool open = true;
    bool heard = false;
    std::map<std::pair<uint64_t, uint64_t>, std::shared_ptr<const plan::View>> views;
  };
  struct Reader {
    std::unique_ptr<client::DeliveryTracker> tracker;
    std::map<uint64_t, Stream> streams;
    std::string session;
    Nanos busy_until = 0;
    Nanos next_report = 0;
    Nanos waited = 0;  // time that the trainer waited since the last report
    Nanos next_tick = 0;
    uint64_t rows = 0;
  };

  void Prepare();
  coordinator::Effects Apply(coordinator::Request request);
  std::shared_ptr<const plan::View> ViewOfJob();
  void Coordinate();
  void Work(int worker);
  void Carry();
  void Deliver(int worker, const Todo& row);
  void Trainers();
  void CarryOut(int reader);
  void Ask(int reader, uint64_t stream, uint64_t epoch, const std::vector<uint64_t>& rows, bool granted);

  const FleetOptions options_;
  std::mt19937_64 random_;
  std::shared_ptr<const plan::DataOrder> order_;
  plan::Steps steps_;
  Nanos now_ = kSecond;
  uint64_t events_ = 0;
  std::unique_ptr<coordinator::CoordinatorState> state_;
  std::vector<Worker> workers_;
  std::vector<Reader> readers_;
  std::map<uint64_t, plan::EpochOrder> plans_;
  double link_credit_ = 0;
  uint64_t arrivals_ = 0;
  uint64_t known_view_ = 0;
  std::string wrong_;
};

}  // namespace penstock::simulation

#endif  // PENSTOCK_TESTS_SIMULATION_FLEET_H_
