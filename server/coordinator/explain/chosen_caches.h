// Describes the caches whose sizes a worker chooses, and why they are not larger.
#ifndef PENSTOCK_SERVER_COORDINATOR_EXPLAIN_CHOSEN_CACHES_H_
#define PENSTOCK_SERVER_COORDINATOR_EXPLAIN_CHOSEN_CACHES_H_

#include <string>

#include "server/coordinator/explain/explain_input.h"

namespace penstock::coordinator {

// Decoded images take about this many times the bytes of their files (docs/performance.md).
constexpr double kDecodedBytes = 10;

// Part of a memory budget that rows keep; chosen caches get the rest (docs/tuning.md). The functions convert in both
// directions.
constexpr double kRowsPartOfBudget = 0.25;
inline double RoomForCaches(double budget) { return (1 - kRowsPartOfBudget) * budget; }
inline double BudgetFor(double caches) { return caches / (1 - kRowsPartOfBudget); }

// Returns sentences for people, or "" if the worker chooses no cache size. `decoded`, `records`: caching the job's
// images or records would help, so the text also states why not all of them are cached.
std::string ChosenCaches(const WorkerInput& worker, bool decoded, bool records);

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_EXPLAIN_CHOSEN_CACHES_H_
