// A trainer in a simulation: the real reader's session, on the virtual network.
#ifndef PENSTOCK_TESTS_SIMULATION_SIM_READER_H_
#define PENSTOCK_TESTS_SIMULATION_SIM_READER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/runtime/sim_scheduler.h"
#include "client/session/open.h"
#include "client/session/session.h"
#include "penstock/batch.h"
#include "penstock/client.h"
#include "tests/simulation/sim_calls.h"
#include "tests/simulation/sim_coordinator_host.h"
#include "tests/simulation/sim_network.h"
#include "tests/simulation/sim_process.h"
#include "tests/support/test_dataset.h"

namespace penstock::simulation {

// Not thread-safe. Begins to read when it is constructed, and pauses for `pace` after each batch. It checks that each
// row holds the record that its ID names, is valid, and comes at most once in its epoch.
class SimReader {
 public:
  // The shards of `dataset` must have the same number of records.
  SimReader(SimScheduler* sim, SimNetwork* network, SimCoordinatorHost* coordinator,
            const support::TestDataset& dataset, const std::string& host, const ReaderOptions& options, Nanos pace);
  ~SimReader();

  uint64_t batches = 0;
  uint64_t digest = 0;     // digest of all rows, in order
  Nanos longest_wait = 0;  // longest wait for a batch other than the first
  absl::Status end;        // OutOfRange after all rows; set when `ended` is
  bool ended = false;
  std::string wrong;  // "", or the error in a batch

 private:
  void Start(client::OpenedSession opened, transport::Transport* transport);
  // Takes the next batch, if it is complete and no pause is in progress.
  void Poll();
  void Check(const Batch& batch);
  void End(const absl::Status& why);
  Nanos now() const { return process_.clock()->Now(); }

  const uint64_t records_, shard_records_;
  const Nanos pace_;
  SimProcess process_;
  std::shared_ptr<SimClientCalls> calls_;
  std::unique_ptr<client::SessionOpener> opener_;
  std::unique_ptr<client::Session> session_;
  bool pausing_ = false;  // between two batches
  Nanos asked_at_ = 0;
  std::map<uint64_t, std::vector<int>> seen_;  // how often each record arrived, by epoch
};

}  // namespace penstock::simulation

#endif  // PENSTOCK_TESTS_SIMULATION_SIM_READER_H_
