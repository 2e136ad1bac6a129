// The part of the delivery core that asks others for rows that their owner does not deliver.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "client/delivery/delivery_tracker.h"
#include "client/delivery/look_ahead.h"

namespace penstock {
namespace {

// Rows of one Fetch.
constexpr size_t kMaxFetchRows = 16384;

constexpr Nanos kHold = kSecond;
// A row that all workers refuse but one that cannot be reached waits for that one so long.
constexpr Nanos kWaitForOthers = 5 * kSecond;
// However slowly rows came from a worker, its silence is noticed after this.
constexpr Nanos kMostPatience = 10 * kSecond;

bool IsTransient(absl::StatusCode code) {
  return code == absl::StatusCode::kUnavailable || code == absl::StatusCode::kAborted ||
         code == absl::StatusCode::kCancelled || code == absl::StatusCode::kDeadlineExceeded;
}

// The worker cannot give the row, which says nothing of the others.
bool IsOfTheWorker(absl::StatusCode code) {
  return code == absl::StatusCode::kFailedPrecondition || code == absl::StatusCode::kResourceExhausted;
}

bool Contains(const std::vector<uint32_t>& list, uint32_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
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
    step->asks[row].owner = worker;
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
      if (ask.worker != worker) continue;
      ask.worker = kNoWorker;
      ask.fetching = false;
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
  // Looked at first: of a large batch most rows wait until somebody has room, and whose they are takes longer.
  const bool any = std::any_of(all.begin(), all.end(), [&](uint32_t worker) {
    return worker != current && HasRoom(worker) &&
           (workers_[worker].usable() || (!strict && workers_[worker].answers()));
  });
  if (!any) return kNoWorker;
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
      if (worker == current || !HasRoom(worker)) continue;
      if (well ? workers_[worker].usable() : workers_[worker].answers()) return worker;
    }
  }
  return kNoWorker;
}

void DeliveryTracker::Ask(BookedStep* step, uint64_t row, uint32_t worker, Nanos now, Fetches* fetches) {
  RowAsk& ask = step->asks[row];
  EndFetch(&ask);
  ask.worker = worker;
  ask.fetching = true;
  ++ask.tries;
  ask.asked_at = now;
  (*fetches)[{worker, step->span.epoch}].push_back(step->RowNumber(row));
  TrackedWorker& w = workers_[worker];
  w.owes_before = std::max(w.owes_before, step->ordinal + 1);
  ++w.fetches;
  ++stats_.fetched_rows;
  if (worker != ask.owner) ++stats_.fetched_elsewhere;
}

void DeliveryTracker::EndFetch(RowAsk* ask) {
  if (!ask->fetching) return;
  ask->fetching = false;
  uint64_t& fetches = workers_[ask->worker].fetches;
  if (fetches > 0) --fetches;
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
  // What is taken from a slow worker is far more than its backup alone could give beside its own.
  const std::vector<uint32_t> spread = AnySlow() ? WellWithRoom() : std::vector<uint32_t>();
  Fetches fetches;
  for (BookedStep& step : booked_) {
    if (step.complete() || step.asks.empty()) continue;
    for (uint64_t row = 0; row < step.rows.size(); ++row) {
      if (step.rows[row] != BookedStep::Row::kMissing || step.asks[row].worker != kNoWorker) continue;
      if (!step.refusals.empty() && step.refusals.count(row) > 0) {
        AskOthers(&step, row, now, &fetches);
        continue;
      }
      uint32_t worker = kNoWorker;
      if (step.asks[row].hold_until <= now) {
        if (!spread.empty()) worker = spread[(step.RowNumber(row) + step.asks[row].tries) % spread.size()];
        if (worker == kNoWorker || !HasRoom(worker)) worker = Choose(step, row, kNoWorker, false);
      }
      if (worker == kNoWorker) {
        orphans_ = true;
      } else {
        Ask(&step, row, worker, now, &fetches);
      }
    }
  }
  Send(std::move(fetches));
}

void DeliveryTracker::GiveUp(BookedStep* step, uint64_t row, absl::Status error) {
  step->rows[row] = BookedStep::Row::kFailed;
  step->refusals.erase(row);
  if (row < step->failed_row) {
    step->failed_row = row;
    step->failure = std::move(error);
  }
  if (--step->unfinished == 0) CloseIdleStreams();
}

void DeliveryTracker::AskOthers(BookedStep* step, uint64_t row, Nanos now, Fetches* fetches) {
  const RowRefusals& refusals = step->refusals.at(row);
  RowAsk& ask = step->asks[row];
  EndFetch(&ask);
  ask.worker = kNoWorker;
  bool somebody = false;
  const std::vector<uint32_t>& all = workers_.in_view();
  for (size_t i = 0; i < all.size(); ++i) {
    const uint32_t worker = all[(row + ask.tries + i) % all.size()];
    if (Contains(refusals.workers, worker)) continue;
    const TrackedWorker& w = workers_[worker];
    if (ask.hold_until <= now && HasRoom(worker) && (w.usable() || w.answers())) {
      Ask(step, row, worker, now, fetches);
      return;
    }
    somebody = true;
  }
  if (somebody && now - refusals.since < kWaitForOthers) {
    orphans_ = true;
    return;
  }
  const size_t others = refusals.workers.size() - 1;
  absl::Status error = refusals.first;
  if (others > 0) {
    error = absl::Status(error.code(), absl::StrCat(error.message(), "; ", others, " other worker",
                                                    others == 1 ? " has" : "s have", " no good copy either"));
  }
  GiveUp(step, row, std::move(error));
}

void DeliveryTracker::Refused(BookedStep* step, uint64_t row, uint32_t sender, absl::Status error, Nanos now,
                              Fetches* fetches) {
  RowRefusals& refusals = step->refusals[row];
  if (refusals.workers.empty()) {
    refusals.since = now;
    refusals.first = std::move(error);
  }
  if (!Contains(refusals.workers, sender)) refusals.workers.push_back(sender);
  step->asks[row].hold_until = 0;
  AskOthers(step, row, now, fetches);
}

void DeliveryTracker::Failed(const Slot& slot, uint64_t stream, absl::Status error, Nanos now) {
  BookedStep& step = At(slot.ordinal);
  PS_CHECK(step.rows[slot.row] == BookedStep::Row::kClaimed);
  const uint32_t sender = workers_.OfStream(stream);
  if (!IsTransient(error.code()) && !IsOfTheWorker(error.code())) return GiveUp(&step, slot.row, std::move(error));
  EnsureAsks(&step);
  step.rows[slot.row] = BookedStep::Row::kMissing;
  row_errors_[sender] = error;
  RowAsk& ask = step.asks[slot.row];
  Fetches fetches;
  if (IsOfTheWorker(error.code()) && sender != kNoWorker) {
    Refused(&step, slot.row, sender, std::move(error), now, &fetches);
    return Send(std::move(fetches));
  }
  // Somebody else was asked meanwhile, and has yet to answer.
  if (ask.worker != kNoWorker && ask.worker != sender && workers_[ask.worker].has_stream()) return;
  EndFetch(&ask);
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
  EndFetch(&step.asks[slot.row]);
  step.asks[slot.row].worker = kNoWorker;
  orphans_ = true;
  Reassign(now);
}

void DeliveryTracker::ChaseLateRows(Nanos now) {
  const Nanos threshold = lateness_.Threshold();
  if (!waiting_since_.has_value() || booked_.empty() || head_complete() || now - *waiting_since_ < threshold) return;
  BookedStep& head = booked_.front();
  EnsureAsks(&head);
  // How long a worker may be silent: longer than its rows take to come, by what was seen of it. A row that was asked
  // for often is not asked for ever faster: where all workers are slow that would only make them slower.
  std::vector<Nanos> patience(workers_.size());
  for (uint32_t i = 0; i < workers_.size(); ++i) {
    patience[i] = std::max(threshold, std::min(2 * workers_[i].pace.gap(), kMostPatience));
  }
  const auto patience_for = [&](const RowAsk& ask) { return patience[ask.worker] << std::min<uint32_t>(ask.tries, 4); };
  const auto is_late = [&](uint64_t row) {
    return head.rows[row] == BookedStep::Row::kMissing && head.asks[row].worker != kNoWorker;
  };
  // Who is silent is known before anyone is asked instead.
  for (uint64_t row = 0; row < head.rows.size(); ++row) {
    if (!is_late(row)) continue;
    const RowAsk& ask = head.asks[row];
    TrackedWorker& worker = workers_[ask.worker];
    const Nanos heard = std::max({*waiting_since_, ask.asked_at, worker.last_heard});
    if (worker.suspect || now - heard < patience_for(ask)) continue;
    worker.suspect = true;
    worker.suspect_from = head_ordinal_;
  }
  Fetches fetches;
  for (uint64_t row = 0; row < head.rows.size(); ++row) {
    if (!is_late(row)) continue;
    const RowAsk& ask = head.asks[row];
    const TrackedWorker& worker = workers_[ask.worker];
    const Nanos mine = patience_for(ask);
    const Nanos since = std::max(*waiting_since_, ask.asked_at);
    const Nanos silent = now - std::max(since, worker.last_heard);
    // It sends, but nothing of this step any more: the row got lost on the way.
    const bool lost = now - std::max(since, worker.last_head_row) >= 4 * mine;
    uint32_t next = kNoWorker;
    if (silent >= mine) next = Choose(head, row, ask.worker, true);
    // Where everyone is silent the others are no better, until it lasts.
    if (next == kNoWorker && (silent >= 4 * mine || lost)) next = Choose(head, row, ask.worker, false);
    if (next == kNoWorker && lost && worker.answers() && HasRoom(ask.worker)) next = ask.worker;
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

}  // namespace penstock
