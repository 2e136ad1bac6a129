// What happens to the coordinator, and what comes of it.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_EVENTS_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_EVENTS_H_

#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "base/runtime/clock.h"
#include "penstock/v1/control.pb.h"
#include "penstock/v1/store.pb.h"
#include "server/coordinator/state/capacity_watch.h"

namespace penstock {

// Time has passed. Sent every few tens of milliseconds.
struct Tick {};

using Request = std::variant<Tick, v1::SubmitRequest, v1::CancelRequest, v1::DeleteRequest, v1::DrainRequest,
                             v1::RegisterWorkerRequest, v1::HeartbeatRequest, v1::ReportTaskRequest,
                             v1::OpenSessionRequest, v1::ReportSessionRequest, v1::CloseSessionRequest>;

struct Event {
  Nanos now = 0;  // never less than in the event before
  Request request;
};

// The reply of a Request's kind; monostate for Tick.
using Reply = std::variant<std::monostate, v1::SubmitReply, v1::CancelReply, v1::DeleteReply, v1::DrainReply,
                           v1::RegisterWorkerReply, v1::HeartbeatReply, v1::ReportTaskReply, v1::OpenSessionReply,
                           v1::ReportSessionReply, v1::CloseSessionReply>;

struct Effects {
  absl::Status status;  // what the caller is told; `reply` counts only when it is OK
  Reply reply;
  // To be stored before the reply is given, in this order.
  std::vector<v1::StoreEvent> facts;
};

// What an event sets off in the parts of the state, gathered while it is applied.
struct Consequences {
  std::vector<v1::StoreEvent> facts;
  bool membership = false;    // who may serve what has changed: views are looked at anew
  bool rebalance = false;     // capacities have changed: shares follow them closely
  bool wake_workers = false;  // there are tasks, or a drain, to be fetched by heartbeat
};

// Limits and times of the coordinator. Times are nanoseconds.
struct StateOptions {
  Nanos heartbeat = kSecond;
  Nanos dead_after = 3 * kSecond;
  Nanos report = kSecond;  // how often trainers say how they do
  // A worker that was removed on reports, or that keeps coming and going, is readmitted when it has
  // beaten steadily for this long; doubled with each removal after the second of the last
  // forgive_after, up to the most.
  Nanos readmit_after = 2 * kSecond;
  Nanos readmit_most = 60 * kSecond;
  Nanos forgive_after = 300 * kSecond;
  Nanos report_window = 10 * kSecond;   // how long a session's word against a worker counts
  Nanos session_expiry = 60 * kSecond;  // without a report
  Nanos task_timeout = 900 * kSecond;   // then a task is tried on another worker
  Nanos forget_after = 3600 * kSecond;  // workers that have died or left, in the status
  CapacityOptions capacity;

  size_t max_workers = 4096;
  size_t max_jobs = 4096;
  size_t max_sessions = 65536;
  // Of one job: its snapshot travels in one message, of which net/channel.h takes 64 MiB.
  size_t max_snapshot_bytes = 40 << 20;
  // Jobs in one answer to a watcher; what is left over comes with the next one.
  size_t max_watch_bytes = 48 << 20;
  size_t max_spec_bytes = 1 << 20;
  int max_task_attempts = 3;  // on unlike workers, when the worker is at fault
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_EVENTS_H_
