// How the threads of a job's workers spend their time, weighted by how long the trainer waited for each worker.
#ifndef PENSTOCK_SERVER_COORDINATOR_EXPLAIN_FLEET_USE_H_
#define PENSTOCK_SERVER_COORDINATOR_EXPLAIN_FLEET_USE_H_

#include <map>
#include <string>
#include <vector>

#include "server/coordinator/explain/explain_input.h"

namespace penstock::coordinator {

struct FleetUse {
  std::vector<const WorkerInput*> workers;  // workers with known counters
  // Means of the fields of WorkerInput; `reading` includes its `storage`.
  double computing = 0, reading = 0, memory = 0, unrequested = 0, others = 0, blocked = 0, cpu = 1;
  double threads = 0, capacity = 0, sent_per_second = 0, read_ms = 0;  // sums, except for read_ms
  bool background_reads = false;
  bool shared_memory = false;  // all of them send their rows through shared memory
  bool finds_reads = false;    // each of them decides about its read threads

  // Returns text such as "worker w1" or "the 3 workers".
  std::string Name() const;
};

// Returns means weighted by `weights`, by worker id. If `weights` has none of the workers, the rows per second are the
// weights; without any rows the workers count equally.
FleetUse UseOf(const std::vector<const WorkerInput*>& workers, const std::map<std::string, double>& weights);

// Returns the one worker that the trainer waits for. It causes at least six tenths of the waiting and at least 1.2
// times an equal share of it. Returns null if there is none, or only one worker.
const WorkerInput* Straggler(const ExplainInput& input, const SessionInput& trainer);

// Returns whether the worker is far slower per thread than the others.
bool IsSlow(const ExplainInput& input, const WorkerInput& worker);

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_EXPLAIN_FLEET_USE_H_
