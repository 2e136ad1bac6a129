#include "client/delivery/delivery_tracker.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"

namespace penstock::client {
namespace {

// Codes with which a worker refuses this session, in contrast to being unreachable.
bool IsRefusal(absl::StatusCode code) {
  return code == absl::StatusCode::kResourceExhausted || code == absl::StatusCode::kFailedPrecondition ||
         code == absl::StatusCode::kPermissionDenied || code == absl::StatusCode::kUnauthenticated;
}

// Code of a worker that has no room for this session yet: it is retried, and counts as working.
constexpr absl::StatusCode kNoRoomYet = absl::StatusCode::kAborted;

// Wait after which the core looks for slow workers.
constexpr Nanos kNoticeAfter = 100 * kMillisecond;

// A worker that stays silent while the trainer consumes this many windows gets no more grants. This bounds the rows
// that it holds for a client that continued without it.
constexpr uint64_t kSuspectWindows = 4;

uint64_t TotalSteps(const plan::Steps& steps, plan::Cursor start, uint64_t epochs) {
  const plan::Cursor from = steps.Normalized(start);
  constexpr uint64_t kEndless = UINT64_MAX;
  // Larger counts never end in practice, and the sums below would overflow.
  if (epochs == 0 || epochs > UINT64_MAX / 4 / steps.positions() || from.epoch > UINT64_MAX / 4) return kEndless;
  return steps.StepsBetween(from, {from.epoch + epochs, 0});
}

}  // namespace

DeliveryTracker::DeliveryTracker(const plan::Steps& steps, TrackerOptions options)
    : steps_(steps), options_(std::move(options)), head_(steps_.Normalized(options_.start)), next_(head_) {
  total_steps_ = TotalSteps(steps_, options_.start, options_.epochs);
  SetWindow(options_.window_steps);
}

void DeliveryTracker::SetWindow(uint64_t steps) {
  PS_CHECK(steps >= 2);
  window_steps_ = steps;
  grant_steps_ = options_.grant_steps;
  if (grant_steps_ == 0) grant_steps_ = window_steps_ < 4 ? 1 : window_steps_ / 2;
  grant_steps_ = std::min(grant_steps_, window_steps_);
}

const plan::EpochOrder& DeliveryTracker::Plan(uint64_t epoch) {
  auto it = plans_.find(epoch);
  if (it == plans_.end()) {
    plans_.erase(plans_.begin(), plans_.lower_bound(head_.epoch));  // drop the plans of past epochs
    it = plans_.emplace(epoch, options_.order->Epoch(epoch)).first;
  }
  return it->second;
}

// A suspect worker still gets grants: if it soon sends again, no recovery is necessary.
bool DeliveryTracker::TakesGrants(const TrackedWorker& worker) const {
  return worker.in_view && !worker.draining && worker.state != TrackedWorker::State::kBroken &&
         worker.state != TrackedWorker::State::kRetrying &&
         !(worker.suspect && head_ordinal_ - worker.suspect_from > kSuspectWindows * options_.window_steps);
}

uint64_t DeliveryTracker::EnsureStream(uint32_t worker) {
  TrackedWorker& w = workers_[worker];
  if (!w.has_stream()) {
    workers_.Open(worker);
    commands_.push_back(OpenStream{w.stream, w.id, w.address, w.local, w.tls_name});
  }
  return w.stream;
}

void DeliveryTracker::ViewChanged(std::shared_ptr<const plan::View> view, Nanos now) {
  if (view_ != nullptr && !view_->OlderThan(*view)) return;
  view_ = std::move(view);
  // A worker with a new address has no stream any longer, so its rows must be fetched elsewhere.
  std::vector<uint32_t> moved;
  for (const plan::ViewWorker& named : view_->workers) {
    const uint32_t worker = workers_.Find(named.id);
    if (worker != kNoWorker && workers_[worker].has_stream() && workers_[worker].address != named.address) {
      moved.push_back(worker);
    }
  }
  for (const uint64_t stream : workers_.Update(*view_)) commands_.push_back(CloseStream{stream});
  for (const uint32_t worker : moved) Disown(worker);
  DropOldGrants(now);
  Advance(now);
  Reassign(now);
  CloseIdleStreams();
  UpdateRefusal();
}

void DeliveryTracker::Heard(uint64_t stream, Nanos now) {
  const uint32_t worker = workers_.OfStream(stream);
  if (worker == kNoWorker) return;
  const bool was_up = workers_[worker].answers();
  workers_.Heard(worker, now);
  if (was_up) return;
  if (orphans_) Reassign(now);
  UpdateRefusal();
}

void DeliveryTracker::WorkerDrains(uint64_t stream, Nanos now) {
  const uint32_t worker = workers_.OfStream(stream);
  if (worker == kNoWorker) return;
  workers_.Heard(worker, now);
  workers_[worker].draining = true;
  CloseIdleStreams();
}

void DeliveryTracker::StreamBroken(uint64_t stream, absl::Status error, Nanos now) {
  const uint32_t worker = workers_.OfStream(stream);
  if (worker == kNoWorker) return;
  ++stats_.broken_streams;
  if (workers_[worker].draining && error.ok()) {
    workers_.Closed(worker);
  } else {
    workers_.Broken(worker, std::move(error), now);
  }
  Disown(worker);
  Reassign(now);
  UpdateRefusal();
}

BookedStep* DeliveryTracker::Find(uint64_t epoch, uint64_t row_number) {
  const auto behind = std::upper_bound(booked_.begin(), booked_.end(), plan::Cursor{epoch, row_number},
                                       [](const plan::Cursor& at, const BookedStep& step) {
                                         return at.epoch != step.span.epoch ? at.epoch < step.span.epoch
                                                                            : at.position < step.span.begin;
                                       });
  if (behind == booked_.begin()) return nullptr;
  BookedStep& step = *(behind - 1);
  if (step.span.epoch != epoch || row_number - step.span.begin >= step.span.rows) return nullptr;
  return &step;
}

DeliveryTracker::Claim DeliveryTracker::RowArrived(uint64_t stream, uint64_t epoch, uint64_t row_number, Nanos now,
                                                   Slot* slot) {
  const uint32_t worker = workers_.OfStream(stream);
  if (worker != kNoWorker) Heard(stream, now);
  BookedStep* step = Find(epoch, row_number);
  TrackedWorker* const sender = worker == kNoWorker ? nullptr : &workers_[worker];
  const bool first = sender != nullptr && sender->first_row < 0;
  if (first) sender->first_row = now;
  if (step == nullptr) {
    // A row before the head is a late second copy. A row after the window was never requested.
    const bool over = epoch != head_.epoch ? epoch < head_.epoch : row_number < head_.position;
    if (!over) return Claim::kUnwanted;
    if (sender != nullptr) {
      sender->pace.Row(now);
      sender->last_head_row = now;
    }
    ++stats_.duplicate_rows;
    return Claim::kDuplicate;
  }
  const uint64_t slot_number = row_number - step->span.begin;
  if (!step->slice.Contains(slot_number)) return Claim::kUnwanted;
  slot->ordinal = step->ordinal;
  slot->row = slot_number - step->slice.begin;
  RowAsk* const ask = step->asks.empty() ? nullptr : &step->asks[slot->row];
  if (sender != nullptr) {
    sender->pace.Row(now, ask != nullptr && ask->worker == worker ? ask->asked_at : step->granted_at, first);
    if (step->ordinal == head_ordinal_) sender->last_head_row = now;
  }
  if (step->rows[slot->row] != BookedStep::Row::kMissing) {
    ++stats_.duplicate_rows;
    return Claim::kDuplicate;
  }
  if (ask != nullptr) EndFetch(ask);
  step->rows[slot->row] = BookedStep::Row::kClaimed;
  return Claim::kYours;
}

void DeliveryTracker::Filled(const Slot& slot, uint64_t stream) {
  const uint32_t worker = workers_.OfStream(stream);
  if (worker != kNoWorker) workers_.Proven(worker);
  BookedStep& step = At(slot.ordinal);
  PS_CHECK(step.rows[slot.row] == BookedStep::Row::kClaimed);
  step.rows[slot.row] = BookedStep::Row::kFilled;
  step.refusals.erase(slot.row);
  EndDamaged(&step, slot.row);
  if (--step.unfinished == 0) CloseIdleStreams();
}

void DeliveryTracker::TrainerWaits(Nanos now) {
  if (!waiting_since_.has_value()) waiting_since_ = now;
  SayWaiting();
}

void DeliveryTracker::SayWaiting() {
  if (!waiting_since_.has_value() || said_waiting_ || booked_.empty() || head_complete()) return;
  said_waiting_ = true;
  for (uint32_t i = 0; i < workers_.size(); ++i) {
    const TrackedWorker& worker = workers_[i];
    if (worker.has_stream() && worker.owes_before > head_ordinal_) {
      commands_.push_back(SendWaiting{worker.stream, head_span().epoch, head_span().begin});
    }
  }
}

void DeliveryTracker::StepTaken(Nanos now) {
  PS_CHECK(head_complete() && head_failure().ok());
  const Nanos wait = waiting_since_.has_value() ? now - *waiting_since_ : 0;
  lateness_.AddWait(wait);
  recent_waits_.Add(now, wait);
  waiting_since_.reset();
  said_waiting_ = false;
  row_errors_.clear();
  head_ = steps_.After(head_span());
  booked_.pop_front();
  ++head_ordinal_;
  FreeSlow(now);
  Advance(now);
  ChaseSuspects(now);
  ChaseSlow(now);
  CloseIdleStreams();
}

void DeliveryTracker::Stopped(Nanos now) {
  if (waiting_since_.has_value()) waiting_since_ = now;
  if (coordinator_away_.has_value()) coordinator_away_ = now;
  resumed_at_ = now;
}

void DeliveryTracker::Tick(Nanos now) {
  ticked_at_ = now;
  for (const uint32_t worker : workers_.in_view()) {
    const TrackedWorker& w = workers_[worker];
    if (w.state == TrackedWorker::State::kBroken && now >= w.retry_at && !w.draining) EnsureStream(worker);
  }
  Advance(now);
  DecideAlone(now);
  if (orphans_) Reassign(now);
  ChaseLateRows(now);
  ChaseSuspects(now);
  FindSlow(now);
  ChaseSlow(now);
}

std::vector<uint32_t> DeliveryTracker::Owners(const plan::View& view, const plan::StepSpan& step) const {
  const plan::SlotRange slice = steps_.Slice(step, options_.rank);
  std::vector<bool> seen(workers_.size());
  std::vector<uint32_t> owners;
  for (const plan::ViewRange& range : view.ranges) {
    // Under BY_RANK a rank's slice touches few of the ranges. Under BY_RECORD its rows may be in any range.
    if (view.policy == plan::AssignPolicy::kByRank &&
        (range.begin > plan::RankKey(slice.end - 1, step.size) || range.end <= plan::RankKey(slice.begin, step.size))) {
      continue;
    }
    const uint32_t worker = workers_.in_view()[range.owner];
    if (!seen[worker]) owners.push_back(worker);
    seen[worker] = true;
  }
  return owners;
}

void DeliveryTracker::Advance(Nanos now) {
  while (view_ != nullptr && !view_->ranges.empty()) {
    const uint64_t booked = booked_.size();
    const uint64_t left = total_steps_ - head_ordinal_ - booked;
    // A run ends with its epoch, so the last run of an epoch may be short.
    const uint64_t run = std::min({grant_steps_, left, steps_.StepsFrom(next_)});
    if (run == 0 || booked + run > window_steps_) break;
    GrantRun(run, now);
  }
  SayWaiting();
}

void DeliveryTracker::GrantRun(uint64_t run, Nanos now) {
  if (granted_view_ != nullptr && granted_view_ != view_) ++stats_.view_changes;
  granted_view_ = view_;
  const plan::Cursor begin = next_;
  const size_t first = booked_.size();
  for (uint64_t i = 0; i < run; ++i) {
    const plan::StepSpan span = steps_.StepAt(next_);
    // By rank, steps of another size may have other owners.
    if (i > 0 && view_->policy == plan::AssignPolicy::kByRank && span.size != booked_[first].span.size) break;
    const plan::SlotRange slice = steps_.Slice(span, options_.rank);
    const uint64_t ordinal = head_ordinal_ + booked_.size();
    booked_.emplace_back(ordinal, span, slice, view_, now);
    commands_.push_back(BookStep{ordinal, span, slice});
    next_ = steps_.After(span);
  }
  const plan::StepSpan& last = booked_.back().span;
  bool all = true;
  for (const uint32_t worker : Owners(*view_, booked_[first].span)) {
    TrackedWorker& w = workers_[worker];
    if (!TakesGrants(w)) {
      all = false;
      continue;
    }
    const uint64_t stream = EnsureStream(worker);
    if (w.view_term != view_->term || w.view_number != view_->n) {
      commands_.push_back(SendView{stream, view_});
      w.view_term = view_->term;
      w.view_number = view_->n;
    }
    commands_.push_back(SendGrant{stream, view_->term, view_->n, begin.epoch, begin.position, last.begin + last.rows});
    w.owes_before = std::max(w.owes_before, booked_.back().ordinal + 1);
  }
  if (all) return;
  for (size_t i = first; i < booked_.size(); ++i) EnsureAsks(&booked_[i]);
  orphans_ = true;
  Reassign(now);
}

void DeliveryTracker::CloseIdleStreams() {
  uint64_t complete_before = head_ordinal_;
  for (const BookedStep& step : booked_) {
    if (!step.complete()) break;
    ++complete_before;
  }
  for (uint32_t i = 0; i < workers_.size(); ++i) {
    TrackedWorker& worker = workers_[i];
    if (!worker.has_stream() || (worker.in_view && !worker.draining) || worker.owes_before > complete_before) continue;
    commands_.push_back(CloseStream{worker.stream});
    workers_.Closed(i);
  }
}

std::vector<Command> DeliveryTracker::TakeCommands() { return std::exchange(commands_, {}); }

bool DeliveryTracker::IsComplete(uint64_t ordinal) const {
  return ordinal >= head_ordinal_ && ordinal - head_ordinal_ < booked_.size() &&
         booked_[ordinal - head_ordinal_].complete();
}

uint64_t DeliveryTracker::complete_steps() const {
  return std::count_if(booked_.begin(), booked_.end(), [](const BookedStep& step) { return step.complete(); });
}

absl::Status DeliveryTracker::Refusal() const {
  if (view_ == nullptr || view_->workers.empty()) return absl::OkStatus();
  const TrackedWorker* first = nullptr;
  for (const uint32_t i : workers_.in_view()) {
    const TrackedWorker& worker = workers_[i];
    const bool broken =
        worker.state == TrackedWorker::State::kBroken || worker.state == TrackedWorker::State::kRetrying;
    if (!broken || !IsRefusal(worker.last_error.code())) return absl::OkStatus();
    if (first == nullptr) first = &worker;
  }
  return absl::Status(first->last_error.code(),
                      absl::StrCat("worker ", first->name, " at ", first->address, ": ", first->last_error.message()));
}

Nanos DeliveryTracker::NextTick(Nanos now) const {
  Nanos next = now + kSecond;
  for (const uint32_t i : workers_.in_view()) {
    const TrackedWorker& worker = workers_[i];
    if (worker.state == TrackedWorker::State::kBroken && !worker.draining) next = std::min(next, worker.retry_at);
    if (worker.suspect || worker.slow) next = std::min(next, now + 100 * kMillisecond);
  }
  if (orphans_) next = std::min(next, now + 100 * kMillisecond);
  if (waiting_since_.has_value() && !booked_.empty() && !head_complete()) {
    const bool often = recent_waits_.Often(now, now - *waiting_since_);
    next = std::min(next, std::max(often ? now : *waiting_since_ + kNoticeAfter, now + LookPause()));
  }
  return std::max(next, now);
}

Nanos DeliveryTracker::LookPause() const {
  return 20 * kMillisecond + 200 * static_cast<Nanos>(booked_.front().rows.size());
}

void DeliveryTracker::UpdateRefusal() {
  absl::Status refusal = Refusal();
  if (refusal == refusal_) return;
  refusal_ = std::move(refusal);
  ++refusal_changes_;
}

std::vector<std::string> DeliveryTracker::FailedWorkers() const {
  // If no worker sends, the workers have not failed: the storage is slow, or all caches are cold.
  bool any_speaks = false;
  for (const uint32_t i : workers_.in_view())
    any_speaks = any_speaks || (workers_[i].answers() && !workers_[i].suspect);
  std::vector<std::string> failed;
  for (const uint32_t i : workers_.in_view()) {
    const TrackedWorker& worker = workers_[i];
    const bool broken =
        worker.state == TrackedWorker::State::kBroken || worker.state == TrackedWorker::State::kRetrying;
    if ((worker.suspect && any_speaks) ||
        (broken && worker.failed && !worker.draining && !IsRefusal(worker.last_error.code()) &&
         worker.last_error.code() != kNoRoomYet)) {
      failed.push_back(worker.id);
    }
  }
  return failed;
}

}  // namespace penstock::client
