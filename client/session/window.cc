#include "client/session/window.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/runtime/waited_time.h"
#include "client/session/notice_times.h"

namespace penstock::client {

Window::Window(std::string job, const plan::Steps& steps, TrackerOptions options, uint64_t most_steps, Clock* clock)
    : job_(std::move(job)),
      clock_(clock),
      tracker_(steps, options),
      size_(options.window_steps, std::max(options.window_steps, most_steps)) {}

void Window::SetHooks(std::function<void()> work, std::function<void()> due) {
  work_ = std::move(work);
  due_ = std::move(due);
}

void Window::NotifyDue() {
  changed_.NotifyAll();
  if (due_) due_();
}

void Window::ViewChanged(std::shared_ptr<const plan::View> view) {
  {
    MutexLock lock(&mutex_);
    tracker_.ViewChanged(std::move(view), clock_->Now());
  }
  NotifyDue();  // all workers of the previous view may have refused
  work_();
}

std::vector<Command> Window::Tick(Nanos* next) {
  MutexLock lock(&mutex_);
  const Nanos now = clock_->Now();
  if (!paused_.empty()) tracker_.Stopped(now);  // no worker makes rows of the job, so none of them is late
  tracker_.Tick(now);
  *next = tracker_.NextTick(now);
  std::vector<Command> commands = tracker_.TakeCommands();
  for (const Command& command : commands) {
    if (const auto* open = std::get_if<OpenStream>(&command)) size_.Opened(open->stream, now);
  }
  return commands;
}

void Window::Book(uint64_t ordinal, std::shared_ptr<Step> step) {
  MutexLock lock(&mutex_);
  if (!closed_) booked_[ordinal].step = std::move(step);
}

void Window::Decided(const std::vector<uint64_t>& records) {
  {
    MutexLock lock(&mutex_);
    tracker_.Decided(records, clock_->Now());
  }
  work_();
}

void Window::Judged(const std::vector<uint64_t>& bad, const std::vector<uint64_t>& intact) {
  {
    MutexLock lock(&mutex_);
    const Nanos now = clock_->Now();
    tracker_.CoordinatorBack();
    tracker_.Decided(bad, now);
    tracker_.Intact(intact, now);
  }
  work_();
}

void Window::JudgeAway() {
  {
    MutexLock lock(&mutex_);
    tracker_.CoordinatorAway(clock_->Now());
  }
  work_();
}

void Window::Fail(absl::Status why) {
  {
    MutexLock lock(&mutex_);
    failed_ = std::move(why);
  }
  NotifyDue();
}

void Window::JobGone(absl::Status why) {
  {
    MutexLock lock(&mutex_);
    job_gone_ = std::move(why);
  }
  NotifyDue();
}

Window::Progress Window::GetProgress() const {
  MutexLock lock(&mutex_);
  Progress progress{tracker_.cursor(), stats_.rows, WaitedLocked(clock_->Now()), tracker_.FailedWorkers(), {},
                    carriers_note_,    {}};
  for (const auto& [carrier, bytes] : carried_) progress.carriers.push_back(carrier);
  progress.times.set_waited_seconds(static_cast<double>(progress.waited) / kSecond);
  progress.times.set_steps(stats_.batches);
  progress.times.set_bytes_received(stats_.bytes_received);
  progress.times.set_window_steps(static_cast<uint32_t>(tracker_.window_steps()));
  progress.times.set_ready_steps(static_cast<uint32_t>(tracker_.complete_steps()));
  times_.AddTo(&progress.times);
  return progress;
}

std::string Window::DescribeWait(Nanos least) const {
  MutexLock lock(&mutex_);
  const Nanos waiting = waiting_since_.has_value() ? clock_->Now() - *asked_since_ : 0;
  if (waiting < std::max<Nanos>(least, 1) || tracker_.head_complete()) return "";
  std::string cause = paused_.empty() ? tracker_.RowError() : paused_;
  if (cause.empty()) {
    DeliveryTracker::Cause missing = tracker_.MissingCause();
    cause = missing.is_certain || file_errors_.empty() ? std::move(missing.text) : FirstClause(file_errors_.front());
  }
  return NoticeText(absl::StrCat("waiting ", waiting / kSecond, " s: ", cause));
}

void Window::SetPaused(std::string why) {
  MutexLock lock(&mutex_);
  paused_ = std::move(why);
}

void Window::SetFileErrors(std::vector<std::string> lines) {
  MutexLock lock(&mutex_);
  file_errors_ = std::move(lines);
}

std::string Window::FileErrorsLocked() const {
  std::string text;
  for (const std::string& line : file_errors_) absl::StrAppend(&text, "; ", line);
  return text;
}

Window::Wait Window::CurrentWait() const {
  MutexLock lock(&mutex_);
  return {tracker_.head_ordinal(), waiting_since_.has_value() ? asked_since_ : std::nullopt, !file_errors_.empty()};
}

void Window::Stopped(Nanos length) {
  MutexLock lock(&mutex_);
  const Nanos now = clock_->Now();
  for (std::optional<Nanos>* since : {&waiting_since_, &asked_since_}) {
    if (since->has_value()) **since = std::min(now, **since + length);
  }
  tracker_.Stopped(now);
}

void Window::Heard(uint64_t stream) {
  bool work = false;
  {
    MutexLock lock(&mutex_);
    const Nanos now = clock_->Now();
    size_.Heard(stream, now);
    tracker_.Heard(stream, now);
    work = tracker_.has_commands();
  }
  if (work) work_();
}

void Window::WorkerDrains(uint64_t stream) {
  {
    MutexLock lock(&mutex_);
    tracker_.WorkerDrains(stream, clock_->Now());
  }
  work_();
}

void Window::StreamBroken(uint64_t stream, absl::Status why) {
  {
    MutexLock lock(&mutex_);
    tracker_.StreamBroken(stream, std::move(why), clock_->Now());
  }
  NotifyDue();  // the error may be a refusal
  work_();
}

void Window::Carried(std::string_view carrier, std::string note, size_t payload_bytes) {
  MutexLock lock(&mutex_);
  stats_.bytes_received += payload_bytes;
  if (carrier.empty()) return;
  if (!note.empty()) carriers_note_ = std::move(note);
  const auto found = carried_.find(carrier);
  if (found != carried_.end()) {
    found->second += payload_bytes;
  } else {
    carried_.emplace(carrier, payload_bytes);
  }
}

bool Window::AcceptsLocked(uint64_t stream, const v1::Rows& rows, int row, const DeliveryTracker::Slot& slot,
                           Nanos now) {
  if (row < rows.flags_size() && (rows.flags(row) & v1::ROW_MASKED) != 0) return true;
  const auto is_row = [&](const auto& other) { return other.row() == static_cast<uint32_t>(row); };
  if (std::any_of(rows.failures().begin(), rows.failures().end(), is_row)) return true;
  const auto other = std::find_if(rows.substitutions().begin(), rows.substitutions().end(), is_row);
  return tracker_.Accepts(
      slot, stream, other == rows.substitutions().end() ? std::nullopt : std::optional(other->source_record()), now);
}

std::string Window::carriers_note() const {
  MutexLock lock(&mutex_);
  return carriers_note_;
}

absl::Status Window::Claim(uint64_t stream, const v1::Rows& rows, std::vector<Claimed>* claimed) {
  const int n = rows.positions_size();
  claimed->clear();
  claimed->resize(n);
  MutexLock lock(&mutex_);
  if (closed_) return absl::OkStatus();
  const Nanos now = clock_->Now();
  size_.Heard(stream, now);
  for (int i = 0; i < n; ++i) {
    DeliveryTracker::Slot slot;
    switch (tracker_.RowArrived(stream, rows.epoch(), rows.positions(i), now, &slot)) {
      case DeliveryTracker::Claim::kYours: {
        const auto it = booked_.find(slot.ordinal);
        if (it == booked_.end()) {  // the step has no memory yet, so the row was not requested
          tracker_.Released(slot, now);
          break;
        }
        if (tracker_.any_decided() && !AcceptsLocked(stream, rows, i, slot, now)) continue;
        (*claimed)[i].slot = slot;
        (*claimed)[i].step = it->second.step;
        continue;
      }
      case DeliveryTracker::Claim::kDuplicate:
        continue;
      case DeliveryTracker::Claim::kUnwanted:
        break;
    }
    return absl::InvalidArgumentError(absl::StrCat("row ", rows.positions(i), " of epoch ", rows.epoch(),
                                                   " came, which this client did not request"));
  }
  return absl::OkStatus();
}

std::vector<Window::Complete> Window::Fill(uint64_t stream, const std::vector<Claimed>& claimed,
                                           const absl::Status& bad) {
  std::vector<Complete> complete;
  bool work = false;
  {
    MutexLock lock(&mutex_);
    const Nanos now = clock_->Now();
    if (!bad.ok()) tracker_.StreamBroken(stream, bad, now);
    for (const Claimed& row : claimed) {
      if (row.step == nullptr) continue;
      if (row.written) {
        tracker_.Filled(row.slot, stream);
      } else if (!row.failure.ok() && bad.ok()) {
        tracker_.Failed(row.slot, stream, row.failure, now, row.damaged_record);
      } else {
        tracker_.Released(row.slot, now);
      }
      if (!tracker_.IsComplete(row.slot.ordinal)) continue;
      complete.push_back({row.slot.ordinal, row.step});
      const auto booked = booked_.find(row.slot.ordinal);
      if (booked != booked_.end()) booked->second.last = tracker_.WorkerOf(stream);
    }
    work = tracker_.has_commands();
  }
  if (!bad.ok()) NotifyDue();
  if (work || !bad.ok()) work_();
  return complete;
}

void Window::Copied(Nanos took) {
  MutexLock lock(&mutex_);
  times_.Copied(took);
}

void Window::Sealed(uint64_t ordinal, absl::Status status, Nanos took) {
  bool head = false;
  {
    MutexLock lock(&mutex_);
    times_.Sealed(took);
    const auto it = booked_.find(ordinal);
    if (it == booked_.end()) return;
    it->second.status = std::move(status);
    it->second.sealed = true;
    head = ordinal == tracker_.head_ordinal();
  }
  if (head) NotifyDue();
}

bool Window::Due(Taken* taken) const {
  if (cancelled_) {
    taken->status = absl::CancelledError(absl::StrCat("reading job ", job_, " was cancelled"));
    return true;
  }
  if (tracker_.finished()) {
    taken->status = absl::OutOfRangeError(absl::StrCat("job ", job_, ": all requested epochs are over"));
    return true;
  }
  if (!job_gone_.ok()) {
    taken->status = job_gone_;
    return true;
  }
  if (tracker_.head_complete()) {
    taken->status = tracker_.head_failure();
    if (!taken->status.ok()) return true;
    const Booked& head = booked_.at(tracker_.head_ordinal());
    if (!head.sealed) return false;
    taken->status = head.status;
    if (taken->status.ok()) taken->step = head.step;
    return true;
  }
  taken->status = failed_;
  if (taken->status.ok()) taken->status = tracker_.Refusal();
  return !taken->status.ok();
}

Nanos Window::WaitedLocked(Nanos now) const {
  return waited_ + (waiting_since_.has_value() ? now - *waiting_since_ : 0);
}

void Window::EndWait(Nanos now) {
  if (!waiting_since_.has_value()) return;
  waited_ += now - *waiting_since_;
  waited_for_head_ += now - *waiting_since_;
  waiting_since_.reset();
}

std::optional<Window::Taken> Window::TakeLocked(Nanos now) {
  Taken taken;
  if (!Due(&taken)) {
    if (!waiting_since_.has_value()) waiting_since_ = now;
    if (!asked_since_.has_value()) asked_since_ = now;
    tracker_.TrainerWaits(now);
    return std::nullopt;
  }
  EndWait(now);
  const Nanos waited = std::exchange(waited_for_head_, 0);
  asked_since_.reset();
  if (taken.step == nullptr) return taken;
  if (stats_.batches == 0) {
    stats_.first_batch_wait = absl::Nanoseconds(waited_);
  } else {
    stats_.longest_wait = std::max(stats_.longest_wait, absl::Nanoseconds(waited));
  }
  ++stats_.batches;
  stats_.rows += taken.step->slice.size();
  stats_.masked_rows += taken.step->masked_rows;
  stats_.substituted_rows += taken.step->substituted_rows;
  times_.WaitedOn(booked_.at(tracker_.head_ordinal()).last, waited);
  booked_.erase(tracker_.head_ordinal());
  size_.StepTaken(now);
  tracker_.SetWindow(size_.steps());
  tracker_.StepTaken(now);
  return taken;
}

std::optional<Window::Taken> Window::Take() {
  std::optional<Taken> taken;
  {
    MutexLock lock(&mutex_);
    taken = TakeLocked(clock_->Now());
  }
  work_();
  return taken;
}

Window::Taken Window::TakeWithin(Nanos timeout) {
  WaitedTime waited(clock_->Now());
  if (std::optional<Taken> taken = Take()) return *std::move(taken);
  std::optional<Taken> taken;
  {
    MutexLock lock(&mutex_);
    for (;;) {
      const Nanos now = clock_->Now();
      taken = TakeLocked(now);
      if (taken.has_value()) break;
      const Nanos left = timeout - waited.At(now);
      if (left <= 0) {
        EndWait(now);
        return {nullptr, absl::DeadlineExceededError(absl::StrCat(
                             "job ", job_, ": no batch within ", absl::FormatDuration(absl::Nanoseconds(timeout)), ": ",
                             paused_, paused_.empty() ? "" : "; ", tracker_.DescribeMissing(), FileErrorsLocked()))};
      }
      changed_.WaitFor(&mutex_, std::chrono::nanoseconds(std::min(left, WaitedTime::kPiece)));
    }
  }
  work_();
  return *std::move(taken);
}

void Window::Cancel() {
  {
    MutexLock lock(&mutex_);
    cancelled_ = true;
  }
  NotifyDue();
}

plan::Cursor Window::cursor() const {
  MutexLock lock(&mutex_);
  return tracker_.cursor();
}

ReaderStats Window::Stats() const {
  MutexLock lock(&mutex_);
  ReaderStats stats = stats_;
  if (const auto shared = carried_.find("shared memory"); shared != carried_.end()) {
    stats.shared_memory_bytes = shared->second;
  }
  for (const auto& [carrier, bytes] : carried_) {
    if (absl::EndsWith(carrier, kCompressed)) stats.compressed_bytes += bytes;
  }
  stats.waited = absl::Nanoseconds(WaitedLocked(clock_->Now()));
  stats.duplicate_rows = tracker_.stats().duplicate_rows;
  stats.fetched_rows = tracker_.stats().fetched_rows;
  stats.fetched_elsewhere = tracker_.stats().fetched_elsewhere;
  stats.broken_streams = tracker_.stats().broken_streams;
  stats.view_changes = tracker_.stats().view_changes;
  stats.prefetched_steps = tracker_.complete_steps();
  return stats;
}

void Window::Close() {
  std::map<uint64_t, Booked> booked;  // release their memory outside the lock
  {
    MutexLock lock(&mutex_);
    closed_ = cancelled_ = true;
    booked.swap(booked_);
  }
  NotifyDue();
}

}  // namespace penstock::client
