#include "server/coordinator/service/control_loop.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/heap.h"
#include "server/coordinator/service/change_log.h"

namespace penstock::coordinator {
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

absl::Status SupersededForAdmin(const absl::Status& superseded) {
  return absl::FailedPreconditionError(
      absl::StrCat(std::string(superseded.message()),
                   ". Look whether this change has taken effect (penstock status), and repeat it if it has not"));
}

bool IsAdmin(const Request& request) {
  return std::holds_alternative<v1::SubmitRequest>(request) || std::holds_alternative<v1::CancelRequest>(request) ||
         std::holds_alternative<v1::DeleteRequest>(request) || std::holds_alternative<v1::PurgeRequest>(request) ||
         std::holds_alternative<v1::PauseRequest>(request) || std::holds_alternative<v1::ResumeRequest>(request) ||
         std::holds_alternative<v1::RevokeRequest>(request);
}

// Returns whether the reply states that records are stored. An earlier request may have reported the same ones.
bool ConfirmsRecords(const Request& request) {
  const auto* judge = std::get_if<v1::JudgeRecordsRequest>(&request);
  return std::holds_alternative<v1::ReportRecordsRequest>(request) || (judge != nullptr && !judge->decided().empty());
}

// Returns whether the answer may have to wait for the store.
bool MayNeedStore(const Request& request) {
  return IsAdmin(request) || ConfirmsRecords(request) || std::holds_alternative<v1::ReportTaskRequest>(request) ||
         std::holds_alternative<v1::DrainRequest>(request);
}

}  // namespace

ControlLoop::ControlLoop(CoordinatorState state, Store* store, uint64_t store_revision, Executor* executor,
                         const Options& options)
    : options_(options),
      state_(std::move(state)),
      strand_(executor),
      tick_(&strand_),
      commits_(store, store_revision, &strand_, options.random, [this](CommitQueue::Result result) {
        strand_.AssertHere();
        CommitEnded(std::move(result));
      }) {
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
    } else if (auto* check = std::get_if<CheckItem>(&item)) {
      check->done(Stopping());
    }
  }
  for (ApplyItem& item : held_) item.done(Stopping(), &none);
  for (Answer& answer : waiting_) answer.done(Stopping(), &none);
  FailWatches(Stopping());
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

void ControlLoop::Apply(Request request, Nanos deadline, ApplyDone done, transport::Peer caller) {
  const bool soon = !CanWait(request);
  if (Enqueue(ApplyItem{std::move(request), deadline, done, std::move(caller)}, false, soon)) return;
  rejected_.fetch_add(1, std::memory_order_relaxed);
  Reply none;
  done(TooMany(), &none);
}

ControlLoop::Load ControlLoop::load() const {
  Load load;
  load.handled = handled_;
  load.rejected = rejected_.load(std::memory_order_relaxed);
  load.unstored = waiting_.size() + held_.size();
  load.watches = watches_.size();
  load.answers_encoded = counts_.encoded;
  load.answers_empty = counts_.ended_empty;
  load.commits = commits_.counts();
  load.uncommitted = commits_.last() - commits_.settled();
  MutexLock lock(&mutex_);
  load.queued = queue_.size();
  return load;
}

bool ControlLoop::Read(Query query) { return Enqueue(std::move(query), false); }

void ControlLoop::CheckServing(std::function<void(absl::Status)> done) {
  if (!Enqueue(CheckItem{done}, false)) done(TooMany());
}

void ControlLoop::Watch(uint64_t id, const v1::WatchRequest& request, WatchDone done) {
  if (!Enqueue(WatchItem{id, request, done, {}}, false)) done(TooMany());
}

void ControlLoop::CancelWatch(uint64_t id) { Enqueue(CancelItem{id}, true); }

void ControlLoop::ReleaseWatches() { Enqueue(ReleaseItem{}, true); }

void ControlLoop::Close(std::function<void()> done) { Enqueue(CloseItem{std::move(done)}, true); }

void ControlLoop::TickBy(Nanos when) {
  if (tick_.pending() && tick_.when() <= when) return;
  tick_.Set(when, [this] {
    strand_.AssertHere();
    if (!superseded_.ok()) return Turn();  // rejects the requests that waited for the tick
    const Nanos now = strand_.clock()->Now();
    Effects effects = state_.Apply({now, Tick()});
    Gather(&effects);
    commits_.Start(true);
    Turn();
    if (release_heap_at_ != 0 && now >= release_heap_at_) {
      release_heap_at_ = 0;
      ReleaseFreedMemory();
    }
    TickBy(now + (commits_.has_gathered() ? options_.tick : options_.quiet_tick));
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
  commits_.Start(closed_ != nullptr);
  if (closed_ != nullptr && !commits_.in_flight()) std::exchange(closed_, nullptr)();
  ServeWatches(now);
}

void ControlLoop::Handle(Item item, Nanos now) {
  if (auto* apply = std::get_if<ApplyItem>(&item)) {
    ++handled_;
    HandleApply(std::move(*apply), now);
  } else if (auto* query = std::get_if<Query>(&item)) {
    (*query)(state_, now);
  } else if (auto* watch = std::get_if<WatchItem>(&item)) {
    HandleWatch(std::move(*watch), now);
  } else if (auto* cancel = std::get_if<CancelItem>(&item)) {
    Finish(cancel->id, absl::CancelledError("the caller has gone"));
  } else if (auto* check = std::get_if<CheckItem>(&item)) {
    check->done(releasing_ ? Stopping() : superseded_);
  } else if (auto* close = std::get_if<CloseItem>(&item)) {
    closed_ = std::move(close->done);
  } else {
    releasing_ = true;
    FailWatches(Stopping());
  }
}

void ControlLoop::HandleApply(ApplyItem item, Nanos now) {
  const auto reject = [&item](const absl::Status& why) {
    Reply none;
    item.done(why, &none);
  };
  const bool admin = IsAdmin(item.request);
  if (!superseded_.ok()) return reject(admin ? SupersededForAdmin(superseded_) : superseded_);
  if (item.deadline < now) return reject(absl::DeadlineExceededError("the coordinator is busy"));
  if (waiting_.size() + held_.size() >= options_.max_waiting && MayNeedStore(item.request)) return reject(TooMany());
  if (state_.MustWait(item.request)) return held_.push_back(std::move(item));
  Event event{now, std::move(item.request), {}, std::move(item.caller)};
  if (NeedsNewId(event.request)) event.new_id = {options_.random->Next(), options_.random->Next()};
  const uint64_t first = commits_.last() + 1;
  Effects effects = state_.Apply(event);
  const bool drains = std::holds_alternative<v1::DrainRequest>(event.request) && !effects.hints.empty();
  const bool waits = !effects.changes.empty() || drains || ConfirmsRecords(event.request);
  Gather(&effects);
  LogTrace(event, effects);
  if (effects.status.ok() && waits && commits_.settled() < commits_.last_needed()) {
    waiting_.push_back(
        {std::move(item.done), absl::OkStatus(), std::move(effects.reply), first, commits_.last_needed(), admin});
  } else {
    item.done(std::move(effects.status), &effects.reply);
  }
}

void ControlLoop::HandleWatch(WatchItem item, Nanos now) {
  if (releasing_) return item.done(Stopping());
  if (!superseded_.ok()) return item.done(superseded_);
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

void ControlLoop::Gather(Effects* effects) {
  LogMembersAndViews(*effects);
  for (v1::StoreEvent& hint : effects->hints) commits_.AddHint(std::move(hint));
  for (Change& change : effects->changes) commits_.AddChange(std::move(change));
  effects->hints.clear();
  effects->changes.clear();
}

void ControlLoop::EndChange(CommitQueue::Entry entry, const absl::Status& stored, Nanos now) {
  if (stored.ok()) {
    LogFacts(entry.facts);
    for (const auto& fact : entry.facts) {
      if (FreesMuch(*fact)) release_heap_at_ = now + kReleaseHeapAfter;
    }
  }
  Effects effects = state_.End(now, *std::move(entry.change), stored.ok() ? stored : CannotStore(stored));
  Gather(&effects);
  if (std::holds_alternative<std::monostate>(effects.reply)) return;
  for (Answer& answer : waiting_) {
    if (answer.first <= entry.number && entry.number <= answer.last) answer.reply = std::move(effects.reply);
    if (answer.last >= entry.number) return;
  }
}

void ControlLoop::CommitEnded(CommitQueue::Result result) {
  if (result.kind == CommitOutcome::kSuperseded) return StopServing(result.why);
  const Nanos now = strand_.clock()->Now();
  for (CommitQueue::Entry& entry : result.ended) {
    if (entry.change.has_value()) EndChange(std::move(entry), result.why, now);
  }
  while (!waiting_.empty() && waiting_.front().last <= result.last) {
    Answer answer = std::move(waiting_.front());
    waiting_.pop_front();
    if (!result.why.ok()) answer.status = answer.admin ? CannotStoreForAdmin(result.why) : CannotStore(result.why);
    answer.done(std::move(answer.status), &answer.reply);
  }
  Reply none;
  for (ApplyItem& item : std::exchange(held_, {})) {
    if (!result.why.ok() && IsAdmin(item.request)) {
      item.done(CannotStoreForAdmin(result.why), &none);
    } else {
      HandleApply(std::move(item), now);
    }
  }
  if (!result.why.ok()) {  // the next turn or tick repeats the commit
    TickBy(now + options_.tick);
    if (closed_ != nullptr) {
      if (commits_.has_gathered()) spdlog::error("changes are lost, which cannot be stored");
      std::exchange(closed_, nullptr)();
    }
    return ServeWatches(now);
  }
  Turn();
}

void ControlLoop::StopServing(const absl::Status& why) {
  superseded_ =
      absl::UnavailableError(absl::StrCat("another coordinator has taken over: ", std::string(why.message())));
  spdlog::error("this coordinator stops: {}", std::string(why.message()));
  Reply none;
  for (Answer& answer : std::exchange(waiting_, {})) {
    answer.done(answer.admin ? SupersededForAdmin(superseded_) : superseded_, &none);
  }
  for (ApplyItem& item : std::exchange(held_, {})) {
    item.done(IsAdmin(item.request) ? SupersededForAdmin(superseded_) : superseded_, &none);
  }
  FailWatches(superseded_);
  if (closed_ != nullptr) std::exchange(closed_, nullptr)();
  options_.on_superseded(why);
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

}  // namespace penstock::coordinator
