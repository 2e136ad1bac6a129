#include "server/worker/link/agent.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/status_macros.h"

namespace penstock {

Agent::Agent(AgentOptions options, AgentHooks hooks, CoordinatorLink* link)
    : options_(std::move(options)),
      hooks_(std::move(hooks)),
      link_(link),
      task_pool_(std::make_unique<WorkerThreads>(options_.task_threads)) {}

void Agent::Start() {
  beat_ = std::thread([this] { Beat(); });
  watch_ = std::thread([this] { Watch(); });
}

Agent::~Agent() { Stop(); }

bool Agent::WaitUntilReady(std::chrono::nanoseconds timeout) {
  const Nanos deadline = Clock::Real()->Now() + timeout.count();
  MutexLock lock(&mutex_);
  while (!(registered_ && watched_)) {
    const Nanos left = deadline - Clock::Real()->Now();
    if (left <= 0 || stopping_) return false;
    changed_.WaitFor(&mutex_, std::chrono::nanoseconds(left));
  }
  return true;
}

void Agent::SetDraining() {
  MutexLock lock(&mutex_);
  draining_ = true;
  wake_ = true;
  changed_.NotifyAll();
}

void Agent::SayLeaving() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (beat_.joinable()) beat_.join();  // a heartbeat after the last one would register this worker again
  v1::HeartbeatRequest request;
  request.set_id(options_.registration.id());
  request.set_incarnation(options_.registration.incarnation());
  *request.mutable_load() = hooks_.load();
  request.set_draining(true);
  request.set_leaving(true);
  // Without it the coordinator notices by the missing heartbeats.
  const auto reply = link_->Heartbeat(request);
  if (!reply.ok()) spdlog::info("the coordinator did not hear that this worker leaves: {}", reply.status().ToString());
}

void Agent::Stop() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  link_->Cancel();
  if (beat_.joinable()) beat_.join();
  if (watch_.joinable()) watch_.join();
  task_pool_.reset();
}

void Agent::Pause(Nanos time) {
  const Nanos until = Clock::Real()->Now() + time;
  MutexLock lock(&mutex_);
  while (!stopping_ && !wake_) {
    const Nanos left = until - Clock::Real()->Now();
    if (left <= 0) break;
    changed_.WaitFor(&mutex_, std::chrono::nanoseconds(left));
  }
  wake_ = false;
}

void Agent::CoordinatorAway(const absl::Status& status) {
  MutexLock lock(&mutex_);
  if (stopping_ || std::exchange(away_said_, true)) return;
  spdlog::warn("the coordinator cannot be reached; serving goes on, and it is tried again: {}", status.ToString());
}

void Agent::CoordinatorThere() {
  MutexLock lock(&mutex_);
  if (std::exchange(away_said_, false)) spdlog::info("the coordinator is back");
}

absl::Status Agent::RegisterOnce() {
  PS_ASSIGN_OR_RETURN(const v1::RegisterWorkerReply reply, link_->Register(options_.registration));
  MutexLock lock(&mutex_);
  registered_ = true;
  term_ = reply.term();
  if (reply.heartbeat_ms() != 0) heartbeat_ = reply.heartbeat_ms() * kMillisecond;
  changed_.NotifyAll();
  spdlog::info("registered as {} at {}", options_.registration.id(), options_.registration.address());
  return absl::OkStatus();
}

void Agent::Beat() {
  Nanos backoff = options_.retry_least;
  for (;;) {
    bool registered = false;
    v1::HeartbeatRequest request;
    Nanos pause = 0;
    {
      MutexLock lock(&mutex_);
      if (stopping_) return;
      registered = registered_;
      request.set_draining(draining_);
      pause = heartbeat_;
    }
    absl::Status status;
    if (!registered) {
      status = RegisterOnce();
      pause = 0;  // the first heartbeat follows at once, and brings tasks
    } else {
      request.set_id(options_.registration.id());
      request.set_incarnation(options_.registration.incarnation());
      *request.mutable_load() = hooks_.load();
      const absl::StatusOr<v1::HeartbeatReply> reply = link_->Heartbeat(request);
      status = reply.status();
      if (reply.ok()) {
        if (reply->register_again()) pause = 0;
        Take(*reply);
      }
    }
    if (status.ok()) {
      backoff = options_.retry_least;
      CoordinatorThere();
    } else {
      CoordinatorAway(status);
      pause = backoff;
      backoff = std::min(2 * backoff, options_.retry_most);
    }
    if (pause > 0) Pause(pause);
  }
}

void Agent::Take(const v1::HeartbeatReply& reply) {
  bool drain = false;
  {
    MutexLock lock(&mutex_);
    if (reply.register_again()) registered_ = false;
    if (reply.drain() && !drain_asked_) drain = drain_asked_ = true;
  }
  if (drain) hooks_.drain();
  TakeTasks(reply.tasks());
}

void Agent::TakeTasks(const google::protobuf::RepeatedPtrField<v1::Task>& tasks) {
  for (const v1::Task& task : tasks) {
    {
      MutexLock lock(&mutex_);
      if (stopping_ || !tasks_.insert(task.id()).second) continue;
    }
    task_pool_->Post([this, task] { RunTask(task); });
  }
}

void Agent::RunTask(const v1::Task& task) {
  {
    MutexLock lock(&mutex_);
    if (stopping_) return;
  }
  const v1::ReportTaskRequest report = hooks_.run_task(task);
  const absl::StatusOr<v1::ReportTaskReply> reply = link_->ReportTask(report);
  {
    // Not reported: the coordinator gives it out again, and it is done again (an index then comes from its sidecar).
    MutexLock lock(&mutex_);
    tasks_.erase(task.id());
  }
  if (reply.ok()) {
    TakeTasks(reply->tasks());
  } else {
    CoordinatorAway(reply.status());
  }
}

void Agent::Watch() {
  Nanos backoff = options_.retry_least;
  JobMirror jobs("");
  uint64_t term = 0;
  for (;;) {
    bool registered = false;
    bool first = false;
    {
      MutexLock lock(&mutex_);
      if (stopping_) return;
      registered = registered_;
      first = !watched_;
      // Revisions may begin anew with a coordinator whose store is another one.
      if (std::exchange(term, term_) != term_) jobs.Lost();
    }
    absl::StatusOr<v1::WatchReply> reply = absl::UnavailableError("not registered");
    if (registered) {
      reply = link_->Watch(jobs.NextRequest(first ? 1 : options_.watch_ms));
      if (!reply.ok()) jobs.Lost();
    }
    const uint64_t before = jobs.revision();
    const absl::StatusOr<JobChanges> changes = reply.ok() ? jobs.Apply(*reply) : reply.status();
    if (reply.ok() && !changes.ok()) CoordinatorAway(changes.status());
    if (!changes.ok()) {
      MutexLock lock(&mutex_);
      const Nanos until = Clock::Real()->Now() + backoff;
      while (!stopping_ && !(registered_ && !registered)) {
        const Nanos left = until - Clock::Real()->Now();
        if (left <= 0) break;
        changed_.WaitFor(&mutex_, std::chrono::nanoseconds(left));
      }
      backoff = std::min(2 * backoff, options_.retry_most);
      continue;
    }
    backoff = options_.retry_least;
    const bool news = jobs.revision() != before;
    if (!changes->jobs.empty() || !changes->removed.empty()) hooks_.jobs_changed(*changes);
    MutexLock lock(&mutex_);
    watched_ = true;
    // The reply may mean tasks or a drain: they come with a heartbeat.
    if (news) wake_ = true;
    changed_.NotifyAll();
  }
}

}  // namespace penstock
