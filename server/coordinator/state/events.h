// Events of the coordinator and their effects.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_EVENTS_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_EVENTS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "base/runtime/clock.h"
#include "penstock/v1/control.pb.h"
#include "penstock/v1/store.pb.h"
#include "server/coordinator/state/capacity_watch.h"
#include "server/coordinator/state/index_turns.h"
#include "server/coordinator/state/ticket_desk.h"
#include "server/peers/peer_counts.h"
#include "transport/ownership.h"
#include "transport/peer.h"

namespace penstock::coordinator {

// The passage of time. The caller applies a tick several times a second.
struct Tick {};

// A worker needs the index of a file, and the coordinator has none. The reply is an IndexTurns::Answer.
struct AskIndexTurn {
  uint64_t key = 0;  // IndexTurns::KeyOf
  std::string worker;
  uint64_t bytes = 0;  // size of the file
};
// The coordinator received the index of a file, or a worker does not build it.
struct EndIndexTurn {
  uint64_t key = 0;
  std::string worker = {};  // the worker that does not build it; empty: the index was received
};

// The coordinator rejected a caller that it did not reject before (server/peers/rejections.h).
struct NoteRejection {
  v1::RejectedCaller caller;
};

// The coordinator has removed the indexes that a purge names (PurgeAnswer), or failed.
struct EndOwnPurge {
  uint64_t job_uid = 0;
  absl::Status status = absl::OkStatus();
  uint64_t bytes = 0;
};
// The reply to a PurgeRequest.
struct PurgeAnswer {
  v1::PurgeReply reply;
  // Content hashes of the indexes that the coordinator must now remove; nullopt: it has done so, or failed.
  std::optional<std::vector<uint64_t>> blobs;
};

using Request =
    std::variant<Tick, v1::SubmitRequest, v1::CancelRequest, v1::DeleteRequest, v1::PurgeRequest, v1::PauseRequest,
                 v1::ResumeRequest, v1::DrainRequest, v1::RevokeRequest, v1::RegisterWorkerRequest,
                 v1::HeartbeatRequest, v1::ReportTaskRequest, v1::ReportRecordsRequest, v1::OpenSessionRequest,
                 v1::ReportSessionRequest, v1::CloseSessionRequest, v1::JudgeRecordsRequest, v1::StartTraceRequest,
                 v1::PutTraceRequest, v1::GetTraceRequest, v1::StartSupportRequest, v1::PutSupportRequest,
                 v1::GetSupportRequest, AskIndexTurn, EndIndexTurn, EndOwnPurge, NoteRejection>;

// Returns whether the request may create a session, a trace or a support file, and so needs Event::new_id.
inline bool NeedsNewId(const Request& request) {
  return std::holds_alternative<v1::OpenSessionRequest>(request) ||
         std::holds_alternative<v1::StartTraceRequest>(request) ||
         std::holds_alternative<v1::StartSupportRequest>(request);
}

struct Event {
  Nanos now = 0;  // never less than in the previous event
  Request request;
  // 128 random bits, if NeedsNewId(request): the id of the session to open, or the id of the trace or support file in
  // the first 64.
  std::array<uint64_t, 2> new_id = {};
  transport::Peer caller = {};  // the process that sent the request
};

// The reply to a Request of the same kind; monostate for Tick, EndIndexTurn, EndOwnPurge and NoteRejection.
using Reply = std::variant<std::monostate, v1::SubmitReply, v1::CancelReply, v1::DeleteReply, PurgeAnswer,
                           v1::PauseReply, v1::ResumeReply, v1::DrainReply, v1::RevokeReply, v1::RegisterWorkerReply,
                           v1::HeartbeatReply, v1::ReportTaskReply, v1::ReportRecordsReply, v1::OpenSessionReply,
                           v1::ReportSessionReply, v1::CloseSessionReply, v1::JudgeRecordsReply, v1::StartTraceReply,
                           v1::PutTraceReply, v1::GetTraceReply, v1::StartSupportReply, v1::PutSupportReply,
                           v1::GetSupportReply, IndexTurns::Answer>;

class CoordinatorState;
struct Consequences;
struct Effects;

// A worker that joined, left or was lost, or whose state, registration or owner changed otherwise.
struct WorkerChange {
  std::string name;  // display name
  std::string address;
  v1::WorkerStatus::State state = v1::WorkerStatus::LIVE;
};

// A change of stored facts about a job, its bad records, its decisions or tickets. The caller stores the facts and then
// calls CoordinatorState::End. Until then the state is as before, so no reply and no watcher receives the change.
struct Change {
  std::vector<v1::StoreEvent> facts;  // to store in this order, all or none
  // Effect of a failed commit. true: the caller stores the change with the next commit. false: the caller ends the
  // change with the error.
  bool retry = false;
  // Jobs that no other change may name until this one ends. Changes of bad records, decisions and tickets name no job.
  std::vector<std::string> jobs;
  std::string by;  // name of the caller of its request, for the history; "": it has no name
  // Makes the change if `stored` is OK. The reply in `effects`, if any, replaces that of the event.
  absl::AnyInvocable<void(CoordinatorState& state, Nanos now, const absl::Status& stored, Effects* effects,
                          Consequences* out) &&>
      end;
};

struct Effects {
  absl::Status status;  // result for the caller; `reply` counts only if it is OK
  Reply reply;
  // Views, workers, events of the history, and final times of revocations. They have taken effect. The caller stores
  // them, in this order, before `changes`. Only the reply to a drain waits for them.
  std::vector<v1::StoreEvent> hints;
  // Changes to store, in this order. The reply waits until they end.
  std::vector<Change> changes;
  std::map<std::string, WorkerChange> members;  // the workers that changed, by id; for the log
};

// Consequences of an event for the parts of the state, collected while the event is applied.
struct Consequences {
  std::vector<v1::StoreEvent> hints;
  std::vector<Change> changes;
  std::map<std::string, WorkerChange> members;  // as in Effects
  std::vector<v1::HistoryEvent> events;         // for the history, in order
  bool membership = false;    // the set of workers that may serve a job has changed; refresh the views
  bool rebalance = false;     // capacities have changed; shares follow them closely
  bool wake_workers = false;  // heartbeats have something to fetch, such as tasks or a drain
};

// Limits, times and rules of the coordinator. Times are nanoseconds.
struct StateOptions {
  transport::OwnershipRule may_act = transport::MayActFor;  // for a session or a trace
  Nanos heartbeat = kSecond;
  Nanos dead_after = 3 * kSecond;
  Nanos report = kSecond;  // interval between two reports of a trainer
  // A worker that votes removed, or that died or crashed repeatedly, is readmitted after sending heartbeats steadily
  // for this long. Each removal, death or crash after the second within forgive_after doubles the time, up to
  // readmit_most.
  Nanos readmit_after = 2 * kSecond;
  Nanos readmit_most = 60 * kSecond;
  Nanos forgive_after = 300 * kSecond;
  Nanos report_window = 10 * kSecond;   // a session's report against a worker counts for this long
  Nanos session_expiry = 60 * kSecond;  // a session without a report for this long is closed
  Nanos task_timeout = 900 * kSecond;   // after this time another worker tries the task
  Nanos forget_after = 3600 * kSecond;  // dead and left workers stay in the status for this long
  // The time of day of this host, for the history and to compare with the workers' clocks.
  std::function<int64_t()> unix_ms = [] { return int64_t{0}; };
  CapacityOptions capacity;
  TicketOptions tickets;

  size_t max_workers = 4096;
  size_t max_jobs = 4096;
  size_t max_sessions = 65536;
  server::PeerCounts::Limits sessions_of_peer;
  // Limit for one job, because its snapshot travels in one message. net/channel.h accepts up to 64 MiB.
  size_t max_snapshot_bytes = 40 << 20;
  // Limit for the jobs in one reply to a watcher. The next reply contains the rest.
  size_t max_watch_bytes = 48 << 20;
  size_t max_spec_bytes = 1 << 20;
  int max_task_attempts = 3;  // on different workers, if the worker is at fault
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_EVENTS_H_
