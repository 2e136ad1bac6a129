// The counters of a coordinator at one time, for metrics.
#ifndef PENSTOCK_SERVER_COORDINATOR_METRICS_COORDINATOR_SNAPSHOT_H_
#define PENSTOCK_SERVER_COORDINATOR_METRICS_COORDINATOR_SNAPSHOT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/runtime/clock.h"
#include "penstock/v1/control.pb.h"
#include "server/coordinator/state/coordinator_state.h"
#include "server/peers/rejections.h"

namespace penstock::coordinator {

// The work of the control loop and of the store since the start, and now.
struct ServiceCounts {
  uint64_t handled = 0, rejected = 0;                                // requests; rejected: too many waited
  uint64_t queued = 0, unstored = 0;                                 // waiting requests: for the loop, for the store
  uint64_t watchers = 0;                                             // open watches
  uint64_t answers_encoded = 0, answers_empty = 0;                   // of watches
  uint64_t stored = 0, not_stored = 0, unknown = 0, superseded = 0;  // commits
  Nanos committing = 0;                                              // time with a commit in flight
  uint64_t uncommitted = 0;                                          // changes that are not stored yet
  uint64_t disk_free_bytes = 0, disk_bytes = 0;                      // disk with the state directory; both 0: unknown
  server::Rejections::Counts rejections = {};                        // rejected connections and calls
  google::protobuf::RepeatedPtrField<v1::RejectedCaller> callers;    // their callers
};

struct CoordinatorSnapshot {
  v1::StatusReply status;
  std::vector<v1::Explanation> explanations;  // jobs with trainers
  size_t unexplained_jobs = 0;                // further jobs with trainers
  std::vector<TrainerProgress> trainers;      // the open sessions
  std::map<TrainerTotals::Key, TrainerTotals::Rank> trainer_totals;
  std::map<std::string, JobTotals::Sums> job_totals;
  ServiceCounts service;
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_METRICS_COORDINATOR_SNAPSHOT_H_
