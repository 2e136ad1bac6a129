#include "server/worker/link/agent.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "server/common/log_fields.h"

namespace penstock::worker {

Agent::Agent(AgentOptions options, AgentHooks hooks, CoordinatorLink* link, Executor* executor, Executor* tasks)
    : options_(std::move(options)),
      hooks_(std::move(hooks)),
      link_(link),
      tasks_executor_(tasks),
      strand_(executor),
      beat_backoff_(options_.retry_least),
      watch_backoff_(options_.retry_least) {}

void Agent::Post(void (Agent::*step)()) {
  strand_.Post([weak = weak_from_this(), step] {
    if (const std::shared_ptr<Agent> self = weak.lock()) ((*self).*step)();
  });
}

template <typename Reply>
CoordinatorLink::Done<Reply> Agent::Then(void (Agent::*step)(const absl::StatusOr<Reply>&)) {
  return [self = shared_from_this(), step](absl::StatusOr<Reply> reply) {
    self->strand_.Post([self, step, reply = std::move(reply)] { ((*self).*step)(reply); });
  };
}

void Agent::Start() {
  Post(&Agent::Beat);
  Post(&Agent::Watch);
}

void Agent::Stop() {
  stopped_.store(true);
  link_->Cancel();
  strand_.Post([self = shared_from_this()] {
    self->strand_.AssertHere();
    self->over_ = true;
    self->left_.reset();
    self->beat_timer_.Cancel();
    self->watch_timer_.Cancel();
  });
}

void Agent::SetDraining() {
  strand_.Post([self = shared_from_this()] {
    self->strand_.AssertHere();
    self->draining_ = true;
    self->BeatSoon();
  });
}

void Agent::CheckRegistered(std::function<void(absl::Status)> done) {
  strand_.Post([self = shared_from_this(), done = std::move(done)] {
    self->strand_.AssertHere();
    done(self->Registration());
  });
}

absl::Status Agent::Registration() const {
  if (draining_ || over_) return absl::UnavailableError("the worker is draining");
  if (!registered_) {
    return absl::UnavailableError(absl::StrCat(
        "not registered: ", beat_error_.ok() ? "the coordinator has not answered yet" : beat_error_.message()));
  }
  if (!watched_) return absl::UnavailableError("registered, but the coordinator has not sent the jobs yet");
  return absl::OkStatus();
}

void Agent::SayLeaving(Task done) {
  strand_.Post([self = shared_from_this(), done = std::move(done)]() mutable {
    self->strand_.AssertHere();
    if (self->stopped()) return;
    const bool said_leaving = self->over_;
    PS_CHECK(!said_leaving);
    self->over_ = true;
    self->draining_ = true;
    self->left_ = std::move(done);
    self->beat_timer_.Cancel();
    self->watch_timer_.Cancel();
    // A heartbeat after the last one would register this worker again.
    if (!self->beating_) self->BeatLast();
  });
}

void Agent::CoordinatorAway(const absl::Status& status) {
  if (stopped() || over_ || std::exchange(away_said_, true)) return;
  server::LogWarn({.worker = options_.registration.name()},
                  "cannot reach the coordinator; this worker keeps serving and tries again: {}", status.ToString());
}

void Agent::CoordinatorThere() {
  answered_.store(strand_.clock()->Now(), std::memory_order_relaxed);
  if (!std::exchange(away_said_, false)) return;
  server::LogInfo({.worker = options_.registration.name()}, "the coordinator is back");
}

void Agent::CheckReady() {
  if (!registered_ || !watched_ || std::exchange(ready_, true)) return;
  if (hooks_.ready) hooks_.ready();
}

// ---- Heartbeats ----------------------------------------------------------------------------------------------------

v1::HeartbeatRequest Agent::NextBeat() {
  v1::HeartbeatRequest request;
  request.set_id(options_.registration.id());
  request.set_incarnation(options_.registration.incarnation());
  *request.mutable_load() = hooks_.load();
  request.set_draining(draining_);
  request.set_tickets_version(tickets_version_);
  if (hooks_.complete_beat) hooks_.complete_beat(&request);
  return request;
}

void Agent::TakeTicketRules(const v1::TicketRules& rules) {
  tickets_version_ = rules.version();
  if (hooks_.tickets) hooks_.tickets(rules);
}

void Agent::Beat() {
  strand_.AssertHere();
  if (over_ || beating_) return;
  beat_timer_.Cancel();
  beat_again_ = false;
  beating_ = true;
  if (registered_) {
    link_->Heartbeat(NextBeat(), Then(&Agent::HasBeaten));
  } else {
    link_->Register(options_.registration, Then(&Agent::Registered));
  }
}

void Agent::BeatSoon() {
  beat_again_ = true;
  if (!beating_) Beat();
}

void Agent::BeatAfter(const absl::Status& status, Nanos pause) {
  beating_ = false;
  beat_error_ = status;
  if (status.ok()) {
    beat_backoff_ = options_.retry_least;
    CoordinatorThere();
  } else {
    CoordinatorAway(status);
    pause = beat_backoff_;
    beat_backoff_ = std::min(2 * beat_backoff_, options_.retry_most);
  }
  if (left_.has_value()) {
    BeatLast();
  } else if (!over_) {
    if (std::exchange(beat_again_, false)) pause = 0;
    beat_timer_.Set(strand_.clock()->Now() + pause, [weak = weak_from_this()] {
      if (const std::shared_ptr<Agent> self = weak.lock()) {
        self->strand_.AssertHere();
        self->Beat();
      }
    });
  }
}

void Agent::Registered(const absl::StatusOr<v1::RegisterWorkerReply>& reply) {
  strand_.AssertHere();
  if (reply.ok()) {
    registered_ = true;
    term_ = reply->term();
    if (reply->heartbeat_ms() != 0) heartbeat_ = reply->heartbeat_ms() * kMillisecond;
    TakeTicketRules(reply->tickets());
    server::LogInfo({.worker = options_.registration.name()}, "registered as {} at {}", options_.registration.id(),
                    options_.registration.address());
    CheckReady();
    if (watch_timer_.pending()) Watch();
  }
  BeatAfter(reply.status(), 0);  // the first heartbeat follows at once and fetches tasks
}

void Agent::HasBeaten(const absl::StatusOr<v1::HeartbeatReply>& reply) {
  strand_.AssertHere();
  Nanos pause = heartbeat_;
  if (reply.ok()) {
    if (reply->next_beat_ms() != 0) pause = std::min(reply->next_beat_ms() * kMillisecond, 2 * heartbeat_);
    if (reply->has_tickets()) TakeTicketRules(reply->tickets());
    if (reply->register_again()) {
      registered_ = false;
      pause = 0;
    }
    if (!over_) {
      if (reply->drain() && !std::exchange(drain_asked_, true)) hooks_.drain();
      TakeTasks(reply->tasks());
      DropOthers(reply->tasks());
      for (const v1::TraceOrder& order : reply->traces()) {
        if (hooks_.trace) hooks_.trace(order);
      }
      for (const v1::SupportOrder& order : reply->support()) {
        if (hooks_.support) hooks_.support(order);
      }
    }
  }
  BeatAfter(reply.status(), pause);
}

void Agent::BeatLast() {
  if (stopped()) return;
  v1::HeartbeatRequest request = NextBeat();
  request.set_leaving(true);
  link_->Heartbeat(request, [self = shared_from_this()](const absl::StatusOr<v1::HeartbeatReply>& reply) {
    // Otherwise the coordinator notices the missing heartbeats.
    if (!reply.ok()) {
      server::LogInfo({.worker = self->options_.registration.name()},
                      "cannot notify the coordinator that this worker leaves: {}", reply.status().ToString());
    }
    self->strand_.Post([self] {
      self->strand_.AssertHere();
      std::optional<Task> left;
      left.swap(self->left_);
      if (left.has_value()) (*std::move(left))();
    });
  });
}

// ---- Tasks ---------------------------------------------------------------------------------------------------------

void Agent::TakeTasks(const google::protobuf::RepeatedPtrField<v1::Task>& tasks) {
  for (const v1::Task& task : tasks) {
    if (over_ || taken_.contains(task.id())) continue;
    auto withdrawn = taken_[task.id()] = std::make_shared<std::atomic<bool>>(false);
    tasks_executor_->Post([self = shared_from_this(), task, withdrawn = std::move(withdrawn)] {
      if (self->stopped()) return;
      if (withdrawn->load()) {
        self->strand_.Post([self, id = task.id()] {
          self->strand_.AssertHere();
          self->taken_.erase(id);
        });
        return;
      }
      v1::ReportTaskRequest report = self->hooks_.run_task(task);
      self->strand_.Post([self, report = std::move(report)] {
        self->strand_.AssertHere();
        self->Report(report);
      });
    });
  }
}

void Agent::DropOthers(const google::protobuf::RepeatedPtrField<v1::Task>& tasks) {
  std::set<uint64_t> ids;
  for (const v1::Task& task : tasks) ids.insert(task.id());
  // This reply may be older than a task that came with the reply to a report. Then the next reply contains the task.
  for (const auto& [id, withdrawn] : taken_) withdrawn->store(!ids.contains(id));
}

void Agent::Report(const v1::ReportTaskRequest& report) {
  if (stopped()) return;
  link_->ReportTask(report,
                    [self = shared_from_this(), id = report.task_id()](absl::StatusOr<v1::ReportTaskReply> reply) {
                      self->strand_.Post([self, id, reply = std::move(reply)] {
                        self->strand_.AssertHere();
                        // After a failed report the coordinator assigns the task again, and it runs again. An index
                        // then comes from its sidecar.
                        self->taken_.erase(id);
                        if (reply.ok()) {
                          self->TakeTasks(reply->tasks());
                        } else {
                          self->CoordinatorAway(reply.status());
                        }
                      });
                    });
}

// ---- The watch -----------------------------------------------------------------------------------------------------

void Agent::Watch() {
  strand_.AssertHere();
  if (over_ || watching_) return;
  watch_timer_.Cancel();
  if (!registered_) {
    Watched(absl::UnavailableError("not registered"));
    return;
  }
  // Revisions may restart with a coordinator that has another store.
  if (std::exchange(watched_term_, term_) != term_) jobs_.Lost();
  watching_ = true;
  link_->Watch(jobs_.NextRequest(watched_ ? options_.watch_ms : 1), Then(&Agent::Watched));
}

void Agent::Watched(const absl::StatusOr<v1::WatchReply>& reply) {
  strand_.AssertHere();
  watching_ = false;
  if (over_) return;
  if (!reply.ok()) jobs_.Lost();
  const uint64_t before = jobs_.revision();
  const absl::StatusOr<net::JobChanges> changes = reply.ok() ? jobs_.Apply(*reply) : reply.status();
  if (reply.ok() && !changes.ok()) CoordinatorAway(changes.status());
  Nanos pause = 0;
  if (changes.ok()) {
    watch_backoff_ = options_.retry_least;
    const bool news = jobs_.revision() != before;
    if (!changes->jobs.empty() || !changes->removed.empty()) hooks_.jobs_changed(*changes);
    watched_ = true;
    CheckReady();
    // The change may be a task or a drain, which heartbeats fetch.
    if (news) BeatSoon();
  } else {
    pause = watch_backoff_;
    watch_backoff_ = std::min(2 * watch_backoff_, options_.retry_most);
  }
  watch_timer_.Set(strand_.clock()->Now() + pause, [weak = weak_from_this()] {
    if (const std::shared_ptr<Agent> self = weak.lock()) {
      self->strand_.AssertHere();
      self->Watch();
    }
  });
}

}  // namespace penstock::worker
