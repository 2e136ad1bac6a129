// The part of the delivery core that asks others for rows that their owner does not deliver.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "client/delivery/delivery_tracker.h"

namespace penstock {
namespace {

// Steps next to the trainer whose rows are not left to a silent worker: enough that fetching keeps ahead, few enough
// that a worker which was only slow has not worked for nothing.
uint64_t LookAhead(uint64_t window) { return std::max<uint64_t>(2, window / 4); }

// Rows of one Fetch.
constexpr size_t kMaxFetchRows = 16384;

constexpr Nanos kHold = kSecond;

bool IsTransient(absl::StatusCode code) {
  return code == absl::StatusCode::kUnavailable || code == absl::StatusCode::kAborted ||
         code == absl::StatusCode::kCancelled || code == absl::StatusCode::kDeadlineExceeded;
}

}  // namespace

void DeliveryTracker::EnsureAsks(BookedStep* step) {
  if (!step->asks.empty()) return;
  step->asks.resize(step->rows.size());
  const EpochPlan& plan = Plan(step->span.epoch);
  for (uint64_t row = 0; row < step->rows.size(); ++row) {
    if (step->rows[row] != BookedStep::Row::kMissing && step->rows[row] != BookedStep::Row::kClaimed) continue;
    const uint64_t slot = step->slice.begin + row;
    const uint64_t record = plan.RecordAt(steps_.PositionOfSlot(step->span, slot));
    const uint32_t owner = step->view->OwnerOf(step->view->KeyOf(record, slot, steps_.step_size()));
    const uint32_t worker = workers_.Find(step->view->workers[owner].id);
    step->asks[row].asked_at = step->granted_at;
    // One that got no grant owes nothing. (This is called before any state changes, so that a stream that is there
    // now was there when the step was granted.)
    if (workers_[worker].has_stream() && workers_[worker].state != TrackedWorker::State::kRetrying &&
        workers_[worker].owes_before > step->ordinal) {
      step->asks[row].worker = worker;
    }
  }
}

void DeliveryTracker::Disown(uint32_t worker) {
  for (BookedStep& step : booked_) {
    if (step.complete() || step.asks.empty()) continue;
    for (RowAsk& ask : step.asks) {
      if (ask.worker == worker) ask.worker = kNoWorker;
    }
  }
  workers_[worker].owes_before = 0;
  // Steps without asks have all rows with the owners of their grant: this one's turn out to be nobody's.
  for (BookedStep& step : booked_) {
    if (!step.complete()) EnsureAsks(&step);
  }
  orphans_ = true;
}

uint32_t DeliveryTracker::Choose(const BookedStep& step, uint64_t row, uint32_t current, bool strict) {
  const std::vector<uint32_t>& all = workers_.in_view();
  if (view_ == nullptr || view_->ranges.empty() || all.empty()) return kNoWorker;
  const uint64_t slot = step.slice.begin + row;
  const uint64_t key =
      view_->KeyOf(Plan(step.span.epoch).RecordAt(steps_.PositionOfSlot(step.span, slot)), slot, steps_.step_size());
  const uint32_t owner = all[view_->OwnerOf(key)];
  const uint32_t backup = all[view_->BackupOf(key)];
  // Owner, backup, then all in turn, each row beginning with another. Where to go on in this list, which is a circle,
  // follows from how often the row was asked for.
  const uint64_t circle = all.size() + 2;
  const uint64_t start = step.asks[row].tries + (current == kNoWorker ? 0 : 1);
  for (const bool well : {true, false}) {
    if (!well && strict) break;
    for (uint64_t i = 0; i < circle; ++i) {
      const uint64_t at = (start + i) % circle;
      const uint32_t worker = at == 0 ? owner : at == 1 ? backup : all[(row + at) % all.size()];
      if (worker == current) continue;
      if (well ? workers_[worker].usable() : workers_[worker].answers()) return worker;
    }
  }
  return kNoWorker;
}

void DeliveryTracker::Ask(BookedStep* step, uint64_t row, uint32_t worker, Nanos now, Fetches* fetches) {
  RowAsk& ask = step->asks[row];
  ask.worker = worker;
  ++ask.tries;
  ask.asked_at = now;
  (*fetches)[{worker, step->span.epoch}].push_back(step->RowNumber(row));
  TrackedWorker& w = workers_[worker];
  w.owes_before = std::max(w.owes_before, step->ordinal + 1);
  ++stats_.fetched_rows;
}

void DeliveryTracker::Send(Fetches fetches) {
  for (auto& [key, rows] : fetches) {
    const uint64_t stream = EnsureStream(key.worker);
    std::sort(rows.begin(), rows.end());
    for (size_t at = 0; at < rows.size(); at += kMaxFetchRows) {
      const size_t end = std::min(rows.size(), at + kMaxFetchRows);
      commands_.push_back(SendFetch{stream, key.epoch, {rows.begin() + at, rows.begin() + end}});
    }
  }
}

void DeliveryTracker::Reassign(Nanos now) {
  if (!orphans_) return;
  orphans_ = false;
  Fetches fetches;
  for (BookedStep& step : booked_) {
    if (step.complete() || step.asks.empty()) continue;
    for (uint64_t row = 0; row < step.rows.size(); ++row) {
      if (step.rows[row] != BookedStep::Row::kMissing || step.asks[row].worker != kNoWorker) continue;
      const uint32_t worker = step.asks[row].hold_until > now ? kNoWorker : Choose(step, row, kNoWorker, false);
      if (worker == kNoWorker) {
        orphans_ = true;
      } else {
        Ask(&step, row, worker, now, &fetches);
      }
    }
  }
  Send(std::move(fetches));
}

void DeliveryTracker::Failed(const Slot& slot, uint64_t stream, absl::Status error, Nanos now) {
  BookedStep& step = At(slot.ordinal);
  PS_CHECK(step.rows[slot.row] == BookedStep::Row::kClaimed);
  const uint32_t sender = workers_.OfStream(stream);
  if (!IsTransient(error.code())) {
    step.rows[slot.row] = BookedStep::Row::kFailed;
    if (slot.row < step.failed_row) {
      step.failed_row = slot.row;
      step.failure = std::move(error);
    }
    if (--step.unfinished == 0) CloseIdleStreams();
    return;
  }
  EnsureAsks(&step);
  step.rows[slot.row] = BookedStep::Row::kMissing;
  last_row_error_ =
      sender == kNoWorker
          ? error
          : absl::Status(error.code(), absl::StrCat("worker ", workers_[sender].id, ": ", error.message()));
  RowAsk& ask = step.asks[slot.row];
  Fetches fetches;
  // Each worker in turn; when all have failed, all again after a while.
  const uint32_t next = (ask.tries + 1) % std::max<size_t>(1, workers_.in_view().size()) == 0
                            ? kNoWorker
                            : Choose(step, slot.row, sender, false);
  if (next == kNoWorker) {
    ask.worker = kNoWorker;
    ask.hold_until = now + kHold;
    ++ask.tries;
    orphans_ = true;
  } else {
    Ask(&step, slot.row, next, now, &fetches);
  }
  Send(std::move(fetches));
}

void DeliveryTracker::Released(const Slot& slot, Nanos now) {
  BookedStep& step = At(slot.ordinal);
  PS_CHECK(step.rows[slot.row] == BookedStep::Row::kClaimed);
  EnsureAsks(&step);
  step.rows[slot.row] = BookedStep::Row::kMissing;
  step.asks[slot.row].worker = kNoWorker;
  orphans_ = true;
  Reassign(now);
}

void DeliveryTracker::ChaseLateRows(Nanos now) {
  const Nanos threshold = lateness_.Threshold();
  if (!waiting_since_.has_value() || booked_.empty() || head_complete() || now - *waiting_since_ < threshold) return;
  BookedStep& head = booked_.front();
  EnsureAsks(&head);
  Fetches fetches;
  for (uint64_t row = 0; row < head.rows.size(); ++row) {
    RowAsk& ask = head.asks[row];
    if (head.rows[row] != BookedStep::Row::kMissing || ask.worker == kNoWorker) continue;
    TrackedWorker& worker = workers_[ask.worker];
    // A row that was asked for often is not asked for ever faster: where all workers are slow that would only make
    // them slower.
    const Nanos patience = threshold << std::min<uint32_t>(ask.tries, 4);
    const Nanos since = std::max(*waiting_since_, ask.asked_at);
    const bool silent = now - std::max(since, worker.last_heard) >= patience;
    if (!silent && now - since < 4 * patience) continue;
    if (silent) worker.suspect = true;
    uint32_t next = Choose(head, row, ask.worker, false);
    // Nobody else is there. Ask again where it was asked, which mends a row that got lost on the way.
    if (next == kNoWorker && now - since >= 4 * patience && worker.answers()) next = ask.worker;
    if (next != kNoWorker) Ask(&head, row, next, now, &fetches);
  }
  Send(std::move(fetches));
}

void DeliveryTracker::ChaseSuspects(Nanos now) {
  bool any = false;
  for (uint32_t i = 0; i < workers_.size(); ++i) any = any || workers_[i].suspect;
  if (!any) return;
  Fetches fetches;
  const uint64_t end = std::min<uint64_t>(booked_.size(), LookAhead(window_steps_));
  for (uint64_t i = 0; i < end; ++i) {
    BookedStep& step = booked_[i];
    if (step.complete()) continue;
    EnsureAsks(&step);
    for (uint64_t row = 0; row < step.rows.size(); ++row) {
      const uint32_t worker = step.asks[row].worker;
      if (step.rows[row] != BookedStep::Row::kMissing || worker == kNoWorker || !workers_[worker].suspect) continue;
      const uint32_t next = Choose(step, row, worker, true);
      if (next != kNoWorker) Ask(&step, row, next, now, &fetches);
    }
  }
  Send(std::move(fetches));
}

std::string DeliveryTracker::DescribeMissing() const {
  if (booked_.empty()) {
    if (view_ == nullptr || view_->ranges.empty()) return "no worker is live";
    return "nothing is asked for yet";
  }
  const BookedStep& head = booked_.front();
  // Per worker: how many rows, and the first of them.
  std::map<uint32_t, std::vector<uint64_t>> rows;
  for (uint64_t row = 0; row < head.rows.size(); ++row) {
    if (head.rows[row] != BookedStep::Row::kMissing && head.rows[row] != BookedStep::Row::kClaimed) continue;
    rows[head.asks.empty() ? kNoWorker - 1 : head.asks[row].worker].push_back(head.RowNumber(row));
  }
  std::string text = absl::StrCat("the step at epoch ", head.span.epoch, ", position ", head.span.begin, " lacks ",
                                  head.unfinished, " of ", head.rows.size(), " rows:");
  for (auto& [worker, numbers] : rows) {
    const size_t shown = std::min<size_t>(numbers.size(), 8);
    absl::StrAppend(&text, " ", numbers.size(), " rows (",
                    absl::StrJoin(numbers.begin(), numbers.begin() + shown, ", "),
                    shown < numbers.size() ? ", ..." : "", ")");
    if (worker == kNoWorker) {
      absl::StrAppend(&text, " that nobody can be asked for now;");
    } else if (worker == kNoWorker - 1) {
      absl::StrAppend(&text, " granted to their owners;");
    } else {
      absl::StrAppend(&text, " asked of worker ", workers_[worker].id, " at ", workers_[worker].address, ";");
    }
  }
  text.pop_back();
  if (!last_row_error_.ok()) absl::StrAppend(&text, "; a row is asked for again: ", last_row_error_.message());
  for (const uint32_t i : workers_.in_view()) {
    const TrackedWorker& worker = workers_[i];
    if (!worker.last_error.ok()) {
      absl::StrAppend(&text, "; worker ", worker.id, " at ", worker.address, ": ", worker.last_error.ToString());
    } else if (worker.suspect) {
      absl::StrAppend(&text, "; worker ", worker.id, " at ", worker.address, " is silent");
    }
  }
  return text;
}

}  // namespace penstock
