// Part of the delivery core: asks other workers for rows that their owner does not deliver.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "client/delivery/delivery_tracker.h"
#include "client/delivery/look_ahead.h"

namespace penstock::client {
namespace {

// Maximum number of rows of one Fetch.
constexpr size_t kMaxFetchRows = 16384;

constexpr Nanos kHoldAfterRefusals = kSecond;
// How long a row that all other workers refused waits for an unavailable worker.
constexpr Nanos kWaitForOthers = 5 * kSecond;
// The longest tolerated silence of a worker, however slowly its rows arrive.
constexpr Nanos kMostPatience = 10 * kSecond;

bool IsTransient(absl::StatusCode code) {
  return code == absl::StatusCode::kUnavailable || code == absl::StatusCode::kAborted ||
         code == absl::StatusCode::kCancelled || code == absl::StatusCode::kDeadlineExceeded;
}

// The worker cannot provide the row, but other workers may.
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
  const plan::EpochOrder& plan = Plan(step->span.epoch);
  for (uint64_t row = 0; row < step->rows.size(); ++row) {
    if (step->rows[row] != BookedStep::Row::kMissing && step->rows[row] != BookedStep::Row::kClaimed) continue;
    const uint64_t slot = step->slice.begin + row;
    const uint64_t record = plan.RecordAt(steps_.PositionOfSlot(step->span, slot));
    const uint32_t owner = step->view->OwnerOf(step->view->KeyOf(record, slot, step->span.size));
    const uint32_t worker = workers_.Find(step->view->workers[owner].id);
    step->asks[row].asked_at = step->granted_at;
    step->asks[row].owner = worker;
    // A worker without a grant owes nothing. (Callers call this before any state changes, so a stream that exists now
    // existed when the step was granted.)
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
  // Steps without asks assign all rows to the owners of their grant. Create the asks: the rows of this worker become
  // unassigned.
  for (BookedStep& step : booked_) {
    if (!step.complete()) EnsureAsks(&step);
  }
  orphans_ = true;
}

uint32_t DeliveryTracker::Choose(const BookedStep& step, uint64_t row, uint32_t current, bool strict) {
  const std::vector<uint32_t>& all = workers_.in_view();
  if (view_ == nullptr || view_->ranges.empty() || all.empty()) return kNoWorker;
  // Checked first, because it is cheaper than the owners: most rows of a large batch wait until a worker has room.
  const bool any = std::any_of(all.begin(), all.end(), [&](uint32_t worker) {
    return worker != current && HasRoom(worker) &&
           (workers_[worker].usable() || (!strict && workers_[worker].answers()));
  });
  if (!any) return kNoWorker;
  const uint64_t slot = step.slice.begin + row;
  const uint64_t key =
      view_->KeyOf(Plan(step.span.epoch).RecordAt(steps_.PositionOfSlot(step.span, slot)), slot, step.span.size);
  const uint32_t owner = all[view_->OwnerOf(key)];
  const uint32_t backup = all[view_->BackupOf(key)];
  // Order: owner, backup, then all workers, starting at another worker for each row. The list is a circle, and the
  // number of tries gives the position in it.
  const uint64_t circle = all.size() + 2;
  const uint64_t start = step.asks[row].tries + (current == kNoWorker ? 0 : 1);
  for (const bool well : {true, false}) {
    if (!well && strict) break;
    for (uint64_t i = 0; i < circle; ++i) {
      const uint64_t at = (start + i) % circle;
      const uint32_t worker = at == 0 ? owner : at == 1 ? backup : all[(row + at) % all.size()];
      if (worker == current || !HasRoom(worker) || Refuses(step, row, worker)) continue;
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
  FetchedRows& fetch = (*fetches)[{worker, step->span.epoch}];
  fetch.rows.push_back(step->RowNumber(row));
  if (copies_.any_decided()) AddDecided(step, row, &fetch.decided);
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
  for (auto& [key, fetch] : fetches) {
    const uint64_t stream = EnsureStream(key.worker);
    std::vector<uint64_t>& rows = fetch.rows;
    std::vector<uint64_t>& decided = fetch.decided;
    std::sort(rows.begin(), rows.end());
    std::sort(decided.begin(), decided.end());
    decided.erase(std::unique(decided.begin(), decided.end()), decided.end());
    for (size_t at = 0; at < rows.size(); at += kMaxFetchRows) {
      const size_t end = std::min(rows.size(), at + kMaxFetchRows);
      commands_.push_back(SendFetch{stream, key.epoch, {rows.begin() + at, rows.begin() + end}, decided});
    }
  }
}

void DeliveryTracker::Reassign(Nanos now) {
  if (!orphans_) return;
  orphans_ = false;
  // A slow worker's rows are far more than its backup can provide in addition to its own.
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
      if (!step.damaged.empty() && step.damaged.count(row) > 0) {
        AskForDamaged(&step, row, now, &fetches);
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
  EndDamaged(step, row);
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

void DeliveryTracker::TryOthers(BookedStep* step, uint64_t row, uint32_t sender, Nanos now, Fetches* fetches) {
  RowAsk& ask = step->asks[row];
  if (AwaitsOther(ask, sender)) return;
  EndFetch(&ask);
  // Ask each worker in turn. After all have failed, ask all again after a pause.
  const uint32_t next = (ask.tries + 1) % std::max<size_t>(1, workers_.in_view().size()) == 0
                            ? kNoWorker
                            : Choose(*step, row, sender, false);
  if (next == kNoWorker) {
    ask.worker = kNoWorker;
    ask.hold_until = now + kHoldAfterRefusals;
    ++ask.tries;
    orphans_ = true;
  } else {
    Ask(step, row, next, now, fetches);
  }
}

void DeliveryTracker::Failed(const Slot& slot, uint64_t stream, absl::Status error, Nanos now,
                             std::optional<uint64_t> damaged_record) {
  BookedStep& step = At(slot.ordinal);
  PS_CHECK(step.rows[slot.row] == BookedStep::Row::kClaimed);
  const uint32_t sender = workers_.OfStream(stream);
  if (!damaged_record.has_value() && !IsTransient(error.code()) && !IsOfTheWorker(error.code())) {
    return GiveUp(&step, slot.row, std::move(error));
  }
  EnsureAsks(&step);
  step.rows[slot.row] = BookedStep::Row::kMissing;
  Fetches fetches;
  if (damaged_record.has_value() && sender != kNoWorker) {
    // The worker used a stand-in, so it read the row's own record and found it bad. A worker whose copy of that record
    // is damaged needs this decision to use the stand-in.
    const uint64_t own = RecordOf(step, slot.row);
    const bool own_is_bad = *damaged_record != own && !copies_.decided(own);
    const bool awaited = own_is_bad && copies_.Decide(own);
    CopyDamaged(&step, slot.row, sender, *damaged_record, error, now, &fetches);
    Send(std::move(fetches));
    if (awaited) Resume({own}, 0, now);
    return;
  }
  row_errors_[sender] = error;
  if (sender != kNoWorker && NeedsDamaged(step, slot.row)) {
    CopyUnavailable(&step, slot.row, sender, error.code(), now, &fetches);
  } else if (IsOfTheWorker(error.code()) && sender != kNoWorker) {
    Refused(&step, slot.row, sender, std::move(error), now, &fetches);
  } else {
    TryOthers(&step, slot.row, sender, now, &fetches);
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
  // The tolerated silence is longer than the observed time between the worker's rows. Each repeated request of a row
  // doubles it, at most four times: if all workers are slow, more frequent requests would only slow them further.
  std::vector<Nanos> patience(workers_.size());
  for (uint32_t i = 0; i < workers_.size(); ++i) {
    patience[i] = std::max(threshold, std::min(2 * workers_[i].pace.gap(), kMostPatience));
  }
  const auto patience_for = [&](const RowAsk& ask) { return patience[ask.worker] << std::min<uint32_t>(ask.tries, 4); };
  const auto is_late = [&](uint64_t row) {
    return head.rows[row] == BookedStep::Row::kMissing && head.asks[row].worker != kNoWorker;
  };
  // Find the silent workers before asking others.
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
    // The worker sends, but no more rows of this step: the row was lost.
    const bool lost = now - std::max(since, worker.last_head_row) >= 4 * mine;
    uint32_t next = kNoWorker;
    if (silent >= mine) next = Choose(head, row, ask.worker, true);
    // If all workers are silent, asking another one helps only if the silence lasts.
    if (next == kNoWorker && (silent >= 4 * mine || lost)) next = Choose(head, row, ask.worker, false);
    if (next == kNoWorker && lost && worker.answers() && HasRoom(ask.worker)) next = ask.worker;
    // The decision does not wait for a silent worker's answer.
    if ((next == kNoWorker || next == ask.worker) && silent >= mine && NeedsDamaged(head, row)) {
      AskForDecisions(head, row);
    }
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

}  // namespace penstock::client
