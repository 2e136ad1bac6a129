// Computes how the threads of a job's workers spend their time. The weight of a worker is the trainer's wait for it.
#ifndef PENSTOCK_SERVER_COORDINATOR_EXPLAIN_FLEET_USE_H_
#define PENSTOCK_SERVER_COORDINATOR_EXPLAIN_FLEET_USE_H_

#include <map>
#include <string>
#include <vector>

#include "server/coordinator/explain/explain_input.h"

namespace penstock::coordinator {

struct FleetUse {
  std::vector<const WorkerInput*> workers;  // workers with known counters (WorkerInput::seconds > 0)
  // Weighted means of the fields of WorkerInput. `reading` includes WorkerInput::storage.
  double computing = 0, reading = 0, memory = 0, unrequested = 0, held = 0, others = 0, blocked = 0, cpu = 1;
  // Sums of the fields of WorkerInput. `read_ms` is a weighted mean.
  double threads = 0, capacity = 0, sent_per_second = 0, read_ms = 0;
  bool background_reads = false;  // any worker reads on separate threads
  bool shared_memory = false;     // all workers send their rows through shared memory
  bool finds_reads = false;       // all workers choose the number of their read threads

  // Returns a name of the workers for a sentence, such as "worker w1" or "the 3 workers".
  std::string Name() const;
};

// Returns the use of those `workers` whose counters are known. `weights` maps ids of workers to their weights. If it
// contains none of the workers, each worker's rows per second are its weight. If no worker makes rows, all weights are
// equal.
FleetUse UseOf(const std::vector<const WorkerInput*>& workers, const std::map<std::string, double>& weights);

// Returns the worker that causes most of the trainer's waiting: at least six tenths of it, and at least 1.2 times an
// equal share. Considers only live workers with known counters. Returns null if there are fewer than two of them, or if
// none causes that much.
const WorkerInput* Straggler(const ExplainInput& input, const SessionInput& trainer);

// Returns whether the worker's capacity per thread is less than six tenths of the median of the other live workers.
// Returns false if its capacity or that of all others is unknown.
bool IsSlow(const ExplainInput& input, const WorkerInput& worker);

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_EXPLAIN_FLEET_USE_H_
