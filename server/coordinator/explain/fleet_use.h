// The time of the threads of a job's workers, of those most that the trainer waited for.
#ifndef PENSTOCK_SERVER_COORDINATOR_EXPLAIN_FLEET_USE_H_
#define PENSTOCK_SERVER_COORDINATOR_EXPLAIN_FLEET_USE_H_

#include <map>
#include <string>
#include <vector>

#include "server/coordinator/explain/explain_input.h"

namespace penstock {

struct FleetUse {
  std::vector<const WorkerInput*> workers;  // of which something is known
  double computing = 0, reading = 0, memory = 0, unasked = 0, others = 0, blocked = 0, cpu = 1;  // reading: and storage
  double threads = 0, capacity = 0, sent_per_second = 0, read_ms = 0;  // sums, but for read_ms
  bool reads_aside = false;
  bool shared_memory = false;  // carries the rows of all of them
  bool finds_reads = false;    // each of them, by itself

  // "worker w1", "the 3 workers"
  std::string Name() const;
};

// Means weighted by `weights` (by id; empty: by rows per second, or alike where there are none).
FleetUse UseOf(const std::vector<const WorkerInput*>& workers, const std::map<std::string, double>& weights);

// The one worker that the trainer waits for: named by at least six tenths of its waiting and by far more than its share
// of those that are known. Null: there is none, or only one worker.
const WorkerInput* Straggler(const ExplainInput& input, const SessionInput& trainer);

// The worker makes far less than others with as many threads do.
bool IsSlow(const ExplainInput& input, const WorkerInput& worker);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_EXPLAIN_FLEET_USE_H_
