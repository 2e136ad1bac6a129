// The worker's tie to the coordinator: registration, heartbeats, the watch of jobs, tasks.
#ifndef PENSTOCK_SERVER_WORKER_LINK_AGENT_H_
#define PENSTOCK_SERVER_WORKER_LINK_AGENT_H_

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "net/job_mirror.h"
#include "penstock/v1/control.pb.h"
#include "server/worker/executor.h"
#include "server/worker/link/coordinator_link.h"

namespace penstock {

struct AgentOptions {
  v1::RegisterWorkerRequest registration;  // complete
  Nanos retry_least = 100 * kMillisecond;  // pause after a failed call; doubled up to retry_most
  Nanos retry_most = kSecond;
  uint32_t watch_ms = 20000;
  int task_threads = 2;
};

// What the agent calls; on its own threads, one call of each at a time except run_task.
struct AgentHooks {
  std::function<v1::WorkerLoad()> load;
  std::function<void(const JobChanges&)> jobs_changed;
  std::function<v1::ReportTaskRequest(const v1::Task&)> run_task;  // on the task threads
  std::function<void()> drain;                                     // an operator asked for it; once
};

// Runs until it is stopped, whatever the coordinator does: while it is away, calls are tried again with capped
// backoff, which is said once. Thread-safe.
class Agent {
 public:
  // `link` outlives this.
  Agent(AgentOptions options, AgentHooks hooks, CoordinatorLink* link);
  // As Stop().
  ~Agent();

  // Once.
  void Start();

  // Waits until the worker was registered and has heard of the jobs there are. False after `timeout`.
  bool WaitUntilReady(std::chrono::nanoseconds timeout);

  // From now on heartbeats say `draining`; one is sent at once.
  void SetDraining();
  // Ends the heartbeats and sends the last one, which says `leaving`, waiting at most for its deadline.
  void SayLeaving();
  // Cancels calls, waits for running tasks, joins the threads. No hook is called afterwards.
  void Stop();

 private:
  void Beat();
  void Watch();
  absl::Status RegisterOnce();
  void Take(const v1::HeartbeatReply& reply);
  void TakeTasks(const google::protobuf::RepeatedPtrField<v1::Task>& tasks);
  void RunTask(const v1::Task& task);
  // Waits until the time has passed or `wake_` or `stopping_`.
  void Pause(Nanos time);
  void CoordinatorAway(const absl::Status& status);
  void CoordinatorThere();

  const AgentOptions options_;
  const AgentHooks hooks_;
  CoordinatorLink* const link_;

  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool wake_ ABSL_GUARDED_BY(mutex_) = false;  // beat at once
  bool registered_ ABSL_GUARDED_BY(mutex_) = false;
  bool watched_ ABSL_GUARDED_BY(mutex_) = false;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool drain_asked_ ABSL_GUARDED_BY(mutex_) = false;
  bool away_said_ ABSL_GUARDED_BY(mutex_) = false;
  Nanos heartbeat_ ABSL_GUARDED_BY(mutex_) = kSecond;
  std::set<uint64_t> tasks_ ABSL_GUARDED_BY(mutex_);  // taken and not yet reported
  uint64_t term_ ABSL_GUARDED_BY(mutex_) = 0;         // of the coordinator that we are registered with

  std::unique_ptr<WorkerThreads> task_pool_;
  std::thread beat_, watch_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_LINK_AGENT_H_
