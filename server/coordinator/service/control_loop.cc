#include "server/coordinator/service/control_loop.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/heap.h"

namespace penstock {
namespace {

constexpr uint32_t kMaxWaitMs = 30'000;
// Long polls end at the same times as reports arrive (state/beat_rhythm.h), so fewer threads wake up.
constexpr Nanos kTogether = kSecond;
// A job with at least this many shards frees enough memory to return it to the system, after watchers have received the
// job.
constexpr uint32_t kLargeJobShards = 1000;
constexpr Nanos kReleaseHeapAfter = kSecond;

bool FreesMuch(const v1::StoreEvent& fact) {
  return fact.has_delete_job() || (fact.has_put_job() && fact.put_job().job().shards_total() >= kLargeJobShards);
}

void LogFact(const v1::StoreEvent& fact) {
  switch (fact.event_case()) {
    case v1::StoreEvent::kPutJob: {
      const v1::Job& job = fact.put_job().job();
      const v1::Job& next = fact.put_job().next();
      if (next.state() == v1::FAILED) {
        spdlog::warn("job {} goes on as it was: what was to replace it failed: {}", job.name(), next.error());
      } else if (next.state() == v1::PREPARING) {
        spdlog::info("job {} goes on until what is to replace it is ready", job.name());
      } else if (job.state() == v1::FAILED) {
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
    case v1::StoreEvent::kAddDecisions:
      spdlog::warn("job {}: every copy of {} records is damaged; the first is record {} of the snapshot",
                   fact.add_decisions().job(), fact.add_decisions().records_size(),
                   fact.add_decisions().records(0).record());
      break;
    default:
      break;
  }
}

absl::Status Stopping() { return absl::UnavailableError("the coordinator is stopping; try again"); }

absl::Status TooMany() {
  return absl::ResourceExhaustedError("the coordinator has too many requests waiting; try again");
}

// Workers and trainers retry by themselves.
absl::Status CannotStore(const absl::Status& why) {
  return absl::UnavailableError(absl::StrCat("the coordinator cannot store this now: ", std::string(why.message())));
}

// For a manual request. Unavailable would mean that the coordinator is unreachable.
absl::Status CannotStoreForAdmin(const absl::Status& why) {
  return absl::Status(
      absl::IsUnavailable(why) ? absl::StatusCode::kFailedPrecondition : why.code(),
      absl::StrCat("the coordinator cannot store this: ", std::string(why.message()), ". Nothing has changed"));
}

bool IsAdmin(const Request& request) {
  return std::holds_alternative<v1::SubmitRequest>(request) || std::holds_alternative<v1::CancelRequest>(request) ||
         std::holds_alternative<v1::DeleteRequest>(request);
}

}  // namespace

ControlLoop::ControlLoop(CoordinatorState state, Store* store, uint64_t store_revision, Executor* executor,
                         const Options& options)
    : store_(store),
      options_(options),
      state_(std::move(state)),
      store_revision_(store_revision),
      strand_(executor),
      tick_(&strand_) {
  strand_.Post([this] {
    strand_.AssertHere();
    TickBy(strand_.clock()->Now() + options_.tick);
  });
}

ControlLoop::~ControlLoop() {
  std::deque<Item> left;
  {
    MutexLock lock(&mutex_);
    left.swap(queue_);
  }
  Reply none;
  for (Item& item : left) {
    if (auto* apply = std::get_if<ApplyItem>(&item)) {
      apply->done(Stopping(), &none);
    } else if (auto* query = std::get_if<Query>(&item)) {
      (*query)(state_, strand_.clock()->Now());
    } else if (auto* watch = std::get_if<WatchItem>(&item)) {
      watch->done(Stopping());
    }
  }
  for (Answer& answer : answers_) answer.done(Stopping(), &none);
  FailWatches(Stopping());
  if (!pending_.empty()) {
    const absl::Status stored = store_->Commit(pending_, store_revision_).status();
    if (!stored.ok()) spdlog::error("changes are lost, which cannot be stored: {}", std::string(stored.message()));
  }
}

std::string ControlLoop::RandomSessionId() {
  std::random_device device;
  std::string id;
  for (int i = 0; i < 4; ++i) absl::StrAppend(&id, absl::Hex(uint32_t{device()}, absl::kZeroPad8));
  return id;
}

bool ControlLoop::Enqueue(Item item, bool always, bool soon) {
  {
    MutexLock lock(&mutex_);
    if (!always && queue_.size() >= options_.max_waiting) return false;
    queue_.push_back(std::move(item));
    if (turn_posted_ || (!soon && tick_asked_)) return true;
    (soon ? turn_posted_ : tick_asked_) = true;
  }
  strand_.Post([this, soon] {
    strand_.AssertHere();
    soon ? Turn() : TickBy(strand_.clock()->Now() + options_.tick);
  });
  return true;
}

bool ControlLoop::CanWait(const Request& request) const {
  if (const auto* report = std::get_if<v1::ReportSessionRequest>(&request)) return report->failed_workers().empty();
  return std::holds_alternative<v1::HeartbeatRequest>(request) && !tasks_wait_.load(std::memory_order_relaxed);
}

void ControlLoop::Apply(Request request, Nanos deadline, ApplyDone done) {
  const bool soon = !CanWait(request);
  if (Enqueue(ApplyItem{std::move(request), deadline, done}, false, soon)) return;
  Reply none;
  done(TooMany(), &none);
}

bool ControlLoop::Read(Query query) { return Enqueue(std::move(query), false); }

void ControlLoop::Watch(uint64_t id, const v1::WatchRequest& request, WatchDone done) {
  if (!Enqueue(WatchItem{id, request, done, {}}, false)) done(TooMany());
}

void ControlLoop::CancelWatch(uint64_t id) { Enqueue(CancelItem{id}, true); }

void ControlLoop::ReleaseWatches() { Enqueue(ReleaseItem{}, true); }

void ControlLoop::TickBy(Nanos when) {
  if (tick_.pending() && tick_.when() <= when) return;
  tick_.Set(when, [this] {
    strand_.AssertHere();
    const Nanos now = strand_.clock()->Now();
    ApplyEvent({now, Tick(), ""});
    Turn();
    if (release_heap_at_ != 0 && now >= release_heap_at_) {
      release_heap_at_ = 0;
      ReleaseFreedMemory();
    }
    TickBy(now + (pending_.empty() ? options_.quiet_tick : options_.tick));
  });
}

void ControlLoop::Turn() {
  std::deque<Item> batch;
  {
    MutexLock lock(&mutex_);
    batch.swap(queue_);
    turn_posted_ = tick_asked_ = false;
  }
  const Nanos now = strand_.clock()->Now();
  for (Item& item : batch) Handle(std::move(item), now);
  tasks_wait_.store(state_.HasWaitingTasks(), std::memory_order_relaxed);
  const absl::Status stored = CommitPending();
  for (Answer& answer : answers_) {
    if (answer.durable && answer.effects.status.ok() && !stored.ok()) {
      answer.effects.status = CannotStore(stored);
    }
    answer.done(std::move(answer.effects.status), &answer.effects.reply);
  }
  answers_.clear();
  ServeWatches(now);
}

void ControlLoop::Handle(Item item, Nanos now) {
  if (auto* apply = std::get_if<ApplyItem>(&item)) {
    if (apply->deadline < now) {
      Reply none;
      apply->done(absl::DeadlineExceededError("the coordinator is busy"), &none);
      return;
    }
    Event event{now, std::move(apply->request), ""};
    if (std::holds_alternative<v1::OpenSessionRequest>(event.request)) event.new_session_id = options_.new_session_id();
    Effects effects = ApplyEvent(event);
    // The change that an admin requested is already stored. Its further facts are consequences, such as a view. A reply
    // to JudgeRecords waits for a commit too, because an earlier event may have made the decisions that it contains.
    const bool judges = std::holds_alternative<v1::JudgeRecordsReply>(effects.reply);
    const bool durable = judges || (!effects.facts.empty() && !IsAdmin(event.request));
    effects.facts.clear();
    answers_.push_back({std::move(apply->done), std::move(effects), durable});
  } else if (auto* query = std::get_if<Query>(&item)) {
    (*query)(state_, now);
  } else if (auto* watch = std::get_if<WatchItem>(&item)) {
    HandleWatch(std::move(*watch), now);
  } else if (auto* cancel = std::get_if<CancelItem>(&item)) {
    Finish(cancel->id, absl::CancelledError("the caller has gone"));
  } else {
    releasing_ = true;
    FailWatches(Stopping());
  }
}

void ControlLoop::HandleWatch(WatchItem item, Nanos now) {
  if (releasing_) return item.done(Stopping());
  if (watches_.size() >= options_.max_watches) return item.done(TooMany());
  Nanos due = now + std::min(item.request.wait_ms(), kMaxWaitMs) * kMillisecond;
  if (due - now >= 2 * kTogether) due -= due % kTogether;
  item.request.clear_wait_ms();
  item.sharing = item.request.SerializeAsString();
  const uint64_t id = item.id;
  TickBy(std::max(due, now + options_.tick));
  table_.Add(id, item.request.job(), due);  // served with the other watches, after this batch is stored
  watches_.emplace(id, std::move(item));
}

Effects ControlLoop::ApplyEvent(const Event& event) {
  const bool admin = IsAdmin(event.request);
  const StoreFacts store = [this, admin, now = event.now](std::vector<v1::StoreEvent> facts) {
    strand_.AssertHere();
    const size_t before = pending_.size();
    for (v1::StoreEvent& fact : facts) pending_.push_back(std::move(fact));
    const absl::Status stored = Commit();
    if (!stored.ok()) {
      pending_.resize(before);
      return admin ? CannotStoreForAdmin(stored) : CannotStore(stored);
    }
    for (size_t i = before; i < pending_.size(); ++i) Note(pending_[i], now);
    pending_.clear();
    return absl::OkStatus();
  };
  Effects effects = state_.Apply(event, store);
  for (v1::StoreEvent& fact : effects.facts) {
    Note(fact, event.now);
    pending_.push_back(std::move(fact));  // the fact of a job may be large
  }
  return effects;
}

void ControlLoop::Note(const v1::StoreEvent& fact, Nanos now) {
  LogFact(fact);
  if (FreesMuch(fact)) release_heap_at_ = now + kReleaseHeapAfter;
}

absl::Status ControlLoop::Commit() {
  const absl::StatusOr<uint64_t> revision = store_->Commit(pending_, store_revision_);
  if (revision.ok()) {
    if (!store_status_.ok()) spdlog::info("the store takes changes again");
    store_revision_ = *revision;
  } else if (store_status_.ok()) {
    spdlog::error("cannot store changes: {}", std::string(revision.status().message()));
  }
  store_status_ = revision.status();
  return store_status_;
}

absl::Status ControlLoop::CommitPending() {
  if (pending_.empty()) return absl::OkStatus();
  absl::Status stored = Commit();
  if (stored.ok()) pending_.clear();
  return stored;
}

void ControlLoop::ServeWatches(Nanos now) {
  const CoordinatorState::News news = state_.TakeNews();
  for (const std::string& job : news.jobs) table_.JobChanged(job);
  if (news.workers) table_.WakeAllJobs();
  if (shared_revision_ != state_.revision()) {
    shared_revision_ = state_.revision();
    shared_.clear();
    empty_ = nullptr;
  }
  size_t looked_at = 0, ended = 0;
  while (looked_at < options_.watches_at_once) {
    const std::optional<uint64_t> id = table_.TakeConcerned();
    if (!id.has_value()) break;
    LookAt(*id, now);
    ++looked_at;
  }
  while (ended < options_.watches_at_once) {
    const std::optional<uint64_t> id = table_.TakeDue(now);
    if (!id.has_value()) break;
    EndEmpty(*id);
    ++ended;
  }
  if (!table_.any_concerned()) shared_.clear();  // answers may be large
  if (!table_.any_concerned() && ended < options_.watches_at_once) return;
  MutexLock lock(&mutex_);
  if (std::exchange(turn_posted_, true)) return;
  strand_.Post([this] {
    strand_.AssertHere();
    Turn();
  });
}

void ControlLoop::LookAt(uint64_t id, Nanos now) {
  WatchItem& item = watches_.at(id);
  ++counts_.looked_at;
  auto shared = shared_.find(item.sharing);
  if (shared == shared_.end()) {
    absl::StatusOr<std::optional<v1::WatchReply>> reply = state_.Watch(item.request);
    if (!reply.ok()) return Finish(id, reply.status());
    std::shared_ptr<const WatchAnswer> answer;
    if (reply->has_value()) {
      answer = std::make_shared<const WatchAnswer>(std::move(**reply));
      ++counts_.encoded;
    }
    shared = shared_.emplace(item.sharing, std::move(answer)).first;
  }
  if (shared->second != nullptr) return Finish(id, shared->second);
  if (table_.IsDue(id, now)) EndEmpty(id);
}

void ControlLoop::EndEmpty(uint64_t id) {
  if (empty_ == nullptr) {
    v1::WatchReply nothing;
    nothing.set_revision(state_.revision());
    empty_ = std::make_shared<const WatchAnswer>(std::move(nothing));
  }
  ++counts_.ended_empty;
  Finish(id, empty_);
}

void ControlLoop::Finish(uint64_t id, absl::StatusOr<std::shared_ptr<const WatchAnswer>> answer) {
  table_.Remove(id);
  const auto found = watches_.find(id);
  if (found == watches_.end()) return;
  const WatchDone done = std::move(found->second.done);
  watches_.erase(found);
  done(std::move(answer));
}

void ControlLoop::FailWatches(const absl::Status& status) {
  std::unordered_map<uint64_t, WatchItem> watches;
  watches.swap(watches_);
  for (auto& [id, item] : watches) {
    table_.Remove(id);
    item.done(status);
  }
}

}  // namespace penstock
