// The worker's connection to the coordinator: registration, heartbeats, the watch of jobs, tasks.
#ifndef PENSTOCK_SERVER_WORKER_LINK_AGENT_H_
#define PENSTOCK_SERVER_WORKER_LINK_AGENT_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/runtime/executor.h"
#include "base/runtime/strand.h"
#include "net/job_mirror.h"
#include "penstock/v1/control.pb.h"
#include "server/worker/link/coordinator_link.h"

namespace penstock::worker {

struct AgentOptions {
  v1::RegisterWorkerRequest registration;  // sent as it is
  Nanos retry_least = 100 * kMillisecond;  // pause after a failed call; each further failure doubles it
  Nanos retry_most = kSecond;              // limit of the pause
  uint32_t watch_ms = 20000;               // time for which the coordinator may hold a watch without a change
};

// Callbacks of the agent. Except for run_task, they run one after another on the agent's strand and must not block.
// `trace`, `support`, `tickets`, `complete_beat` and `ready` may be null.
struct AgentHooks {
  std::function<v1::WorkerLoad()> load;                            // returns the load for a heartbeat
  std::function<void(const net::JobChanges&)> jobs_changed;        // receives the changes since the last call
  std::function<v1::ReportTaskRequest(const v1::Task&)> run_task;  // runs on `tasks`; may block
  std::function<void(const v1::TraceOrder&)> trace = nullptr;      // requests a trace; may repeat a request
  std::function<void(const v1::SupportOrder&)> support = nullptr;  // requests support files; may repeat a request
  // Receives new rules for tickets. Without keys: the coordinator issues no tickets.
  std::function<void(const v1::TicketRules&)> tickets = nullptr;
  // Adds what else a heartbeat reports.
  std::function<void(v1::HeartbeatRequest*)> complete_beat = nullptr;
  std::function<void()> drain;  // an operator requests a drain; called at most once
  std::function<void()> ready;  // the agent is registered and knows the jobs; called at most once
};

// Registers the worker, sends heartbeats, watches the jobs and runs tasks, until SayLeaving() or Stop(). While the
// coordinator is unreachable, the agent retries with capped backoff and logs one warning. Thread-safe. Has no threads:
// it runs on a strand. Calls in flight and running tasks keep it alive until they end.
class Agent : public std::enable_shared_from_this<Agent> {
 public:
  // The strand and its timers run on `executor`, and run_task runs on `tasks`. `link` and both executors must outlive
  // the agent.
  Agent(AgentOptions options, AgentHooks hooks, CoordinatorLink* link, Executor* executor, Executor* tasks);

  // Starts the agent. Call it once.
  void Start();
  // Sets `draining` in all further heartbeats. Sends one now, or as soon as the call in flight has ended.
  void SetDraining();
  // Calls `done` on the strand: with OK if the worker is registered, knows the jobs and is not draining; otherwise with
  // the reason in words. While the coordinator is away, a registered worker keeps serving, so that is OK.
  void CheckRegistered(std::function<void(absl::Status)> done);
  // Ends the heartbeats and the watch, and sends a last heartbeat with `leaving`. Later tasks do not start. Calls
  // `done` on the strand after that heartbeat has succeeded or failed, but never if Stop() came before. Call it once.
  void SayLeaving(Task done);
  // Cancels the calls in flight. Later calls fail, and later tasks do not start. Waits until no callback of the link
  // runs, and so must not be called inside one. Hooks may still run until the executors have stopped.
  void Stop();
  // Returns the time at which the coordinator last accepted a registration or a heartbeat; -1: not yet.
  Nanos answered() const { return answered_.load(std::memory_order_relaxed); }
  // Returns whether Stop() was called. Long tasks check it to end early.
  bool stopped() const { return stopped_.load(); }

 private:
  void Beat() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void BeatAfter(const absl::Status& status, Nanos pause) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  // Sends a heartbeat now, or as soon as the call in flight has ended.
  void BeatSoon() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void Registered(const absl::StatusOr<v1::RegisterWorkerReply>& reply) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void HasBeaten(const absl::StatusOr<v1::HeartbeatReply>& reply) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void BeatLast() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void Watch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void Watched(const absl::StatusOr<v1::WatchReply>& reply) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void TakeTasks(const google::protobuf::RepeatedPtrField<v1::Task>& tasks) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  // Drops the queued tasks that are not in `tasks`, all tasks of this worker.
  void DropOthers(const google::protobuf::RepeatedPtrField<v1::Task>& tasks) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void Report(const v1::ReportTaskRequest& report) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  v1::HeartbeatRequest NextBeat() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void TakeTicketRules(const v1::TicketRules& rules) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void CheckReady() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  absl::Status Registration() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void CoordinatorAway(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void CoordinatorThere() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);

  void Post(void (Agent::*step)());
  // Returns a callback that passes a call's reply to `step` on the strand.
  template <typename Reply>
  CoordinatorLink::Done<Reply> Then(void (Agent::*step)(const absl::StatusOr<Reply>&));

  const AgentOptions options_;
  const AgentHooks hooks_;
  CoordinatorLink* const link_;
  Executor* const tasks_executor_;
  std::atomic<bool> stopped_{false};
  std::atomic<Nanos> answered_{-1};
  Strand strand_;

  bool over_ ABSL_GUARDED_BY(strand_) = false;        // stopped or leaving: only the last heartbeat is sent
  bool beating_ ABSL_GUARDED_BY(strand_) = false;     // a registration or a heartbeat is in flight
  bool beat_again_ ABSL_GUARDED_BY(strand_) = false;  // send a heartbeat as soon as the call in flight has ended
  bool watching_ ABSL_GUARDED_BY(strand_) = false;
  bool registered_ ABSL_GUARDED_BY(strand_) = false;
  bool watched_ ABSL_GUARDED_BY(strand_) = false;
  bool ready_ ABSL_GUARDED_BY(strand_) = false;
  bool draining_ ABSL_GUARDED_BY(strand_) = false;
  bool drain_asked_ ABSL_GUARDED_BY(strand_) = false;
  bool away_said_ ABSL_GUARDED_BY(strand_) = false;
  absl::Status beat_error_ ABSL_GUARDED_BY(strand_);   // result of the last registration or heartbeat
  std::optional<Task> left_ ABSL_GUARDED_BY(strand_);  // `done` of SayLeaving
  Nanos heartbeat_ ABSL_GUARDED_BY(strand_) = kSecond;
  Nanos beat_backoff_ ABSL_GUARDED_BY(strand_);
  Nanos watch_backoff_ ABSL_GUARDED_BY(strand_);
  uint64_t term_ ABSL_GUARDED_BY(strand_) = 0;             // term of the coordinator that has registered this worker
  uint64_t tickets_version_ ABSL_GUARDED_BY(strand_) = 0;  // TicketRules::version of the rules
  uint64_t watched_term_ ABSL_GUARDED_BY(strand_) = 0;     // term that jobs_ belongs to
  net::JobMirror jobs_ ABSL_GUARDED_BY(strand_);
  // Tasks whose report has not been answered yet, and whether the coordinator has withdrawn them: the reply to the last
  // heartbeat does not contain them.
  std::map<uint64_t, std::shared_ptr<std::atomic<bool>>> taken_ ABSL_GUARDED_BY(strand_);
  StrandTimer beat_timer_ ABSL_GUARDED_BY(strand_){&strand_};
  StrandTimer watch_timer_ ABSL_GUARDED_BY(strand_){&strand_};
};

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_LINK_AGENT_H_
