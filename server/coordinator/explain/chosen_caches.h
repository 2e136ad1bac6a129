// What a worker has made of the caches whose sizes it chooses, and what keeps it from more.
#ifndef PENSTOCK_SERVER_COORDINATOR_EXPLAIN_CHOSEN_CACHES_H_
#define PENSTOCK_SERVER_COORDINATOR_EXPLAIN_CHOSEN_CACHES_H_

#include <string>

#include "server/coordinator/explain/explain_input.h"

namespace penstock {

// Decoded images take about so many times their files' bytes (docs/performance.md).
constexpr double kDecodedBytes = 10;

// Of a memory budget, what chosen caches may have at most: rows keep a quarter (docs/tuning.md). And the reverse.
constexpr double kRowsPartOfBudget = 0.25;
inline double RoomForCaches(double budget) { return (1 - kRowsPartOfBudget) * budget; }
inline double BudgetFor(double caches) { return caches / (1 - kRowsPartOfBudget); }

// A sentence or two for people; "" where it chooses none. `decoded`, `records`: those of the job's images, or records,
// would help, so that it is said why they are not all there.
std::string ChosenCaches(const WorkerInput& worker, bool decoded, bool records);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_EXPLAIN_CHOSEN_CACHES_H_
