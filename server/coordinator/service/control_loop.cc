#include "server/coordinator/service/control_loop.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

constexpr uint32_t kMaxWaitMs = 30'000;

void LogFact(const v1::StoreEvent& fact) {
  switch (fact.event_case()) {
    case v1::StoreEvent::kPutJob: {
      const v1::Job& job = fact.put_job().job();
      if (job.state() == v1::FAILED) {
        spdlog::warn("job {} failed: {}", job.name(), job.error());
      } else {
        spdlog::info("job {} is {}", job.name(), v1::JobState_Name(job.state()));
      }
      break;
    }
    case v1::StoreEvent::kPutView:
      spdlog::info("job {}: view {}.{} of {} ranges on {} workers", fact.put_view().job(),
                   fact.put_view().view().term(), fact.put_view().view().number(), fact.put_view().view().ranges_size(),
                   fact.put_view().view().workers_size());
      break;
    case v1::StoreEvent::kPutWorker:
      spdlog::info("worker {} at {} is {}", fact.put_worker().registration().id(),
                   fact.put_worker().registration().address(), v1::WorkerStatus_State_Name(fact.put_worker().state()));
      break;
    default:
      break;
  }
}

absl::Status Stopping() { return absl::UnavailableError("the coordinator is stopping; try again"); }

absl::Status TooMany() {
  return absl::ResourceExhaustedError("the coordinator has too many requests waiting; try again");
}

}  // namespace

ControlLoop::ControlLoop(CoordinatorState state, Store* store, uint64_t store_revision, const Clock* clock,
                         const Options& options)
    : store_(store),
      clock_(clock),
      options_(options),
      state_(std::move(state)),
      store_revision_(store_revision),
      thread_([this] { Run(); }) {}

ControlLoop::~ControlLoop() {
  {
    MutexLock lock(&mutex_);
    ending_ = true;
  }
  arrived_.NotifyAll();
  thread_.join();
}

bool ControlLoop::Enqueue(Item item, bool always) {
  {
    MutexLock lock(&mutex_);
    if (ending_ || (!always && queue_.size() >= options_.max_waiting)) return false;
    queue_.push_back(std::move(item));
  }
  arrived_.NotifyOne();
  return true;
}

void ControlLoop::Apply(Request request, Deadline deadline, ApplyDone done) {
  if (Enqueue(ApplyItem{std::move(request), deadline, done}, false)) return;
  Reply none;
  done(TooMany(), &none);
}

bool ControlLoop::Read(Query query) { return Enqueue(std::move(query), false); }

void ControlLoop::Watch(uint64_t id, const v1::WatchRequest& request, WatchDone done) {
  if (!Enqueue(WatchItem{id, request, done}, false)) done(TooMany());
}

void ControlLoop::CancelWatch(uint64_t id) { Enqueue(CancelItem{id}, true); }

void ControlLoop::ReleaseWatches() { Enqueue(ReleaseItem{}, true); }

void ControlLoop::Run() {
  auto next_tick = std::chrono::steady_clock::now();
  while (true) {
    std::deque<Item> batch;
    bool ending = false;
    {
      MutexLock lock(&mutex_);
      while (queue_.empty() && !ending_) {
        const auto now = std::chrono::steady_clock::now();
        if (now >= next_tick) break;
        arrived_.WaitFor(&mutex_, next_tick - now);
      }
      batch.swap(queue_);
      ending = ending_;
    }
    const Nanos now = clock_->Now();
    for (Item& item : batch) Handle(std::move(item), now);
    if (std::chrono::steady_clock::now() >= next_tick) {
      ApplyEvent({now, Tick()});
      next_tick = std::chrono::steady_clock::now() + options_.tick;
    }
    const absl::Status stored = CommitPending();
    for (Answer& answer : answers_) {
      if (answer.durable && answer.effects.status.ok() && !stored.ok()) {
        answer.effects.status = absl::UnavailableError(
            absl::StrCat("the coordinator cannot store this now: ", std::string(stored.message())));
      }
      answer.done(std::move(answer.effects.status), &answer.effects.reply);
    }
    answers_.clear();
    ServeWatches(now);
    if (ending && batch.empty()) break;
  }
  FailWatches(Stopping());
}

void ControlLoop::Handle(Item item, Nanos now) {
  if (auto* apply = std::get_if<ApplyItem>(&item)) {
    if (apply->deadline < std::chrono::system_clock::now()) {
      Reply none;
      apply->done(absl::DeadlineExceededError("the coordinator is busy"), &none);
      return;
    }
    const bool admin = std::holds_alternative<v1::SubmitRequest>(apply->request) ||
                       std::holds_alternative<v1::CancelRequest>(apply->request);
    // While the disk takes nothing, nothing is begun that would have to be remembered.
    if (admin && !store_status_.ok()) {
      if (absl::Status again = CommitPending(); !again.ok()) {
        Reply none;
        apply->done(absl::UnavailableError(
                        absl::StrCat("the coordinator cannot store this now: ", std::string(again.message()))),
                    &none);
        return;
      }
    }
    Effects effects = ApplyEvent({now, std::move(apply->request)});
    const bool durable = !effects.facts.empty();
    effects.facts.clear();
    answers_.push_back({std::move(apply->done), std::move(effects), durable});
  } else if (auto* query = std::get_if<Query>(&item)) {
    (*query)(state_, now);
  } else if (auto* watch = std::get_if<WatchItem>(&item)) {
    HandleWatch(std::move(*watch), now);
  } else if (auto* cancel = std::get_if<CancelItem>(&item)) {
    auto found = watches_.find(cancel->id);
    if (found == watches_.end()) return;
    found->second.done(absl::CancelledError("the caller has gone"));
    watches_.erase(found);
  } else {
    releasing_ = true;
    FailWatches(Stopping());
  }
}

void ControlLoop::HandleWatch(WatchItem item, Nanos now) {
  if (releasing_) return item.done(Stopping());
  if (watches_.size() >= options_.max_watches) return item.done(TooMany());
  item.until = now + std::min(item.request.wait_ms(), kMaxWaitMs) * kMillisecond;
  const uint64_t id = item.id;
  watches_[id] = std::move(item);
  served_revision_ = 0;  // look at it with the others, once this batch is stored
}

Effects ControlLoop::ApplyEvent(Event event) {
  Effects effects = state_.Apply(event);
  for (const v1::StoreEvent& fact : effects.facts) {
    LogFact(fact);
    pending_.push_back(fact);
  }
  return effects;
}

absl::Status ControlLoop::CommitPending() {
  if (pending_.empty()) return store_status_;
  absl::StatusOr<uint64_t> revision = store_->Commit(pending_, store_revision_);
  if (revision.ok()) {
    if (!store_status_.ok()) spdlog::info("the store takes changes again");
    store_revision_ = *revision;
    pending_.clear();
    store_status_ = absl::OkStatus();
  } else {
    if (store_status_.ok()) {
      spdlog::error("cannot store changes, trying again: {}", std::string(revision.status().message()));
    }
    store_status_ = revision.status();
  }
  return store_status_;
}

void ControlLoop::ServeWatches(Nanos now) {
  const bool changed = served_revision_ != state_.revision();
  served_revision_ = state_.revision();
  for (auto it = watches_.begin(); it != watches_.end();) {
    WatchItem& item = it->second;
    if (changed) {
      absl::StatusOr<std::optional<v1::WatchReply>> reply = state_.Watch(item.request);
      if (!reply.ok() || reply->has_value()) {
        item.done(reply.ok() ? absl::StatusOr<v1::WatchReply>(std::move(**reply)) : reply.status());
        it = watches_.erase(it);
        continue;
      }
    }
    if (now >= item.until) {
      v1::WatchReply nothing;
      nothing.set_revision(std::max(state_.revision(), item.request.known_revision()));
      item.done(std::move(nothing));
      it = watches_.erase(it);
      continue;
    }
    ++it;
  }
}

void ControlLoop::FailWatches(const absl::Status& status) {
  for (auto& [id, item] : watches_) item.done(status);
  watches_.clear();
}

}  // namespace penstock
