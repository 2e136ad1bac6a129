// Part of the delivery core: rows of records whose copies are damaged. It asks every worker, waits for the decision
// whether the record is bad, and then fetches the row with that decision.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "client/delivery/delivery_tracker.h"

namespace penstock::client {
namespace {

// Pause before the core asks all workers again.
constexpr Nanos kHoldAfterCopies = kSecond;
constexpr size_t kShownRecords = 2;
constexpr size_t kShownWaits = 4;

bool Contains(const std::vector<uint64_t>& list, uint64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

DamagedRecord* FindIn(std::vector<DamagedRecord>* list, uint64_t record) {
  const auto it =
      std::find_if(list->begin(), list->end(), [&](const DamagedRecord& of) { return of.record == record; });
  return it == list->end() ? nullptr : &*it;
}

}  // namespace

uint64_t DeliveryTracker::RecordOf(const BookedStep& step, uint64_t row) {
  return Plan(step.span.epoch).RecordAt(steps_.PositionOfSlot(step.span, step.slice.begin + row));
}

bool DeliveryTracker::AwaitsOther(const RowAsk& ask, uint32_t sender) const {
  return ask.worker != kNoWorker && ask.worker != sender && workers_[ask.worker].has_stream();
}

bool DeliveryTracker::Refuses(const BookedStep& step, uint64_t row, uint32_t worker) const {
  if (step.damaged.empty()) return false;
  const auto of = step.damaged.find(row);
  if (of == step.damaged.end()) return false;
  return std::any_of(of->second.begin(), of->second.end(),
                     [&](const DamagedRecord& needed) { return !copies_.MayAsk(needed.record, worker, ticked_at_); });
}

bool DeliveryTracker::NeedsDamaged(const BookedStep& step, uint64_t row) const {
  if (step.damaged.empty()) return false;
  const auto of = step.damaged.find(row);
  if (of == step.damaged.end()) return false;
  return std::any_of(of->second.begin(), of->second.end(),
                     [&](const DamagedRecord& needed) { return !copies_.decided(needed.record); });
}

void DeliveryTracker::CopyDamaged(BookedStep* step, uint64_t row, uint32_t sender, uint64_t record,
                                  const absl::Status& error, Nanos now, Fetches* fetches) {
  if (copies_.decided(record)) return FollowDecision(step, row, sender, record, now, fetches);
  std::vector<DamagedRecord>& needed = step->damaged[row];
  if (FindIn(&needed, record) == nullptr) {
    needed.push_back({record});
    copies_.AddRow(record, now);
  }
  copies_.Answered(record, sender, RecordCopies::Copy::kDamaged, std::string(error.message()), now);
  // A worker with other files has no copy.
  if (const auto refusals = step->refusals.find(row); refusals != step->refusals.end()) {
    for (const uint32_t worker : refusals->second.workers) {
      copies_.Answered(record, worker, RecordCopies::Copy::kNone, "", now);
    }
    step->refusals.erase(refusals);
  }
  if (!AwaitsOther(step->asks[row], sender)) AskForDamaged(step, row, now, fetches);
}

void DeliveryTracker::CopyUnavailable(BookedStep* step, uint64_t row, uint32_t sender, absl::StatusCode code, Nanos now,
                                      Fetches* fetches) {
  const auto copy =
      code == absl::StatusCode::kFailedPrecondition ? RecordCopies::Copy::kNone : RecordCopies::Copy::kUnreadable;
  for (const DamagedRecord& needed : step->damaged.at(row)) {
    if (!copies_.decided(needed.record)) copies_.Answered(needed.record, sender, copy, "", now);
  }
  if (!AwaitsOther(step->asks[row], sender)) AskForDamaged(step, row, now, fetches);
}

void DeliveryTracker::FollowDecision(BookedStep* step, uint64_t row, uint32_t sender, uint64_t record, Nanos now,
                                     Fetches* fetches) {
  std::vector<DamagedRecord>& needed = step->damaged[row];
  DamagedRecord* const known = FindIn(&needed, record);
  if (known != nullptr && known->told) {
    row_errors_[sender] = absl::UnavailableError(
        absl::StrCat("does not follow the decision that record ", record, " is bad; update the worker"));
    // Ask the next worker in turn, or all again after a pause.
    RowAsk& ask = step->asks[row];
    if (ask.tries % std::max<size_t>(1, workers_.in_view().size()) == 0) ask.hold_until = now + kHoldAfterCopies;
  }
  if (known == nullptr) needed.push_back({record});
  if (!AwaitsOther(step->asks[row], sender)) AskForDamaged(step, row, now, fetches);
}

bool DeliveryTracker::Accepts(const Slot& slot, uint64_t stream, std::optional<uint64_t> source, Nanos now) {
  if (!copies_.any_decided()) return true;
  BookedStep& step = At(slot.ordinal);
  PS_CHECK(step.rows[slot.row] == BookedStep::Row::kClaimed);
  const uint64_t record = source.has_value() ? *source : RecordOf(step, slot.row);
  if (!copies_.decided(record)) return true;
  EnsureAsks(&step);
  step.rows[slot.row] = BookedStep::Row::kMissing;
  Fetches fetches;
  FollowDecision(&step, slot.row, workers_.OfStream(stream), record, now, &fetches);
  Send(std::move(fetches));
  return false;
}

void DeliveryTracker::AskForDamaged(BookedStep* step, uint64_t row, Nanos now, Fetches* fetches) {
  RowAsk& ask = step->asks[row];
  EndFetch(&ask);
  ask.worker = kNoWorker;
  if (ask.hold_until > now) {
    orphans_ = true;
    return;
  }
  const std::vector<DamagedRecord>& needed = step->damaged.at(row);
  const std::vector<uint32_t>& all = workers_.in_view();
  uint32_t best = kNoWorker;
  int best_rank = 0;
  for (size_t i = 0; i < all.size() && best_rank < 4; ++i) {
    const uint32_t worker = all[(row + ask.tries + i) % all.size()];
    const TrackedWorker& w = workers_[worker];
    if (!HasRoom(worker) || (!w.usable() && !w.answers())) continue;
    bool other_host = true, may = true;
    for (const DamagedRecord& of : needed) {
      may = may && copies_.MayAsk(of.record, worker, now);
      other_host = other_host && !copies_.FoundDamagedOn(of.record, HostOf(w.address), workers_);
    }
    // Prefer a worker that keeps up, then a host without a known damaged copy.
    const int rank = 1 + (w.usable() ? 2 : 0) + (other_host ? 1 : 0);
    if (!may || rank <= best_rank) continue;
    best = worker;
    best_rank = rank;
  }
  if (best != kNoWorker) return Ask(step, row, best, now, fetches);
  orphans_ = true;
  AskForDecisions(*step, row);
}

void DeliveryTracker::AskForDecisions(const BookedStep& step, uint64_t row) {
  for (const DamagedRecord& needed : step.damaged.at(row)) {
    if (!copies_.MarkForDecision(needed.record)) continue;
    if (commands_.empty() || !std::holds_alternative<AskVerdicts>(commands_.back())) commands_.push_back(AskVerdicts());
    std::get<AskVerdicts>(commands_.back()).records.push_back(needed.record);
  }
}

void DeliveryTracker::EndDamaged(BookedStep* step, uint64_t row) {
  if (step->damaged.empty()) return;
  const auto of = step->damaged.find(row);
  if (of == step->damaged.end()) return;
  for (const DamagedRecord& needed : of->second) copies_.RemoveRow(needed.record);
  step->damaged.erase(of);
}

void DeliveryTracker::Resume(std::vector<uint64_t> records, Nanos hold_until, Nanos now) {
  std::sort(records.begin(), records.end());
  for (BookedStep& step : booked_) {
    for (const auto& [row, needed] : step.damaged) {
      const bool waits = std::any_of(needed.begin(), needed.end(), [&](const DamagedRecord& of) {
        return std::binary_search(records.begin(), records.end(), of.record);
      });
      if (waits) step.asks[row].hold_until = hold_until;
    }
  }
  orphans_ = true;
  Reassign(now);
}

void DeliveryTracker::Decided(const std::vector<uint64_t>& records, Nanos now) {
  std::vector<uint64_t> awaited;
  for (const uint64_t record : records) {
    if (copies_.Decide(record)) awaited.push_back(record);
  }
  if (!awaited.empty()) Resume(std::move(awaited), 0, now);
}

void DeliveryTracker::Intact(const std::vector<uint64_t>& records, Nanos now) {
  std::vector<uint64_t> awaited;
  for (const uint64_t record : records) {
    if (copies_.Forget(record)) awaited.push_back(record);
  }
  if (!awaited.empty()) Resume(std::move(awaited), now + kHoldAfterCopies, now);
}

void DeliveryTracker::CoordinatorAway(Nanos since) {
  coordinator_away_ = std::min(since, coordinator_away_.value_or(since));
}

void DeliveryTracker::CoordinatorBack() { coordinator_away_.reset(); }

void DeliveryTracker::DecideAlone(Nanos now) {
  if (!coordinator_away_.has_value() || copies_.empty()) return;
  if (now - *coordinator_away_ < RecordCopies::kWaitForCoordinator) return;
  const std::vector<uint64_t> bad = copies_.FindBad(workers_, now);
  for (const uint64_t record : bad) commands_.push_back(StoreDecision{record, copies_.MessageOf(record)});
  Decided(bad, now);
}

void DeliveryTracker::AddDecided(BookedStep* step, uint64_t row, std::vector<uint64_t>* decided) {
  const uint64_t planned = RecordOf(*step, row);
  if (copies_.decided(planned)) decided->push_back(planned);
  if (step->damaged.empty()) return;
  const auto of = step->damaged.find(row);
  if (of == step->damaged.end()) return;
  for (DamagedRecord& needed : of->second) {
    if (!copies_.decided(needed.record)) continue;
    needed.told = true;
    decided->push_back(needed.record);
  }
}

std::vector<uint64_t> DeliveryTracker::UndecidedOfHead() const {
  std::vector<uint64_t> records;
  for (const auto& [row, needed] : booked_.front().damaged) {
    for (const DamagedRecord& of : needed) {
      if (copies_.needs_decision(of.record) && !Contains(records, of.record)) records.push_back(of.record);
    }
  }
  return records;
}

std::string DeliveryTracker::DecisionWait(uint64_t record) const {
  if (!coordinator_away_.has_value()) return "waiting for the coordinator's decision";
  if (ticked_at_ - *coordinator_away_ < RecordCopies::kWaitForCoordinator) {
    return absl::StrCat("waiting up to ", RecordCopies::kWaitForCoordinator / kSecond,
                        " s for the coordinator, which is away");
  }
  std::vector<std::string> waits;
  for (const RecordCopies::Wait& wait : copies_.WaitsFor(record, workers_, ticked_at_)) {
    const std::string up_to = absl::StrCat("up to ", RecordCopies::kWaitForWorker / kSecond, " s for worker ");
    const std::string& name = workers_[wait.worker].name;
    using Why = RecordCopies::Wait::Why;
    waits.push_back(wait.why == Why::kLost      ? absl::StrCat(up_to, name, ", which was lost")
                    : wait.why == Why::kStorage ? absl::StrCat(up_to, name, ", whose storage fails")
                                                : absl::StrCat("for the answer of worker ", name));
  }
  if (waits.size() > kShownWaits) waits.resize(kShownWaits);
  return absl::StrCat("the coordinator is away, waiting ",
                      waits.empty() ? "for a worker that has the record" : absl::StrJoin(waits, ", "));
}

std::string DeliveryTracker::DescribeDamaged() const {
  const std::vector<uint64_t> records = UndecidedOfHead();
  std::string text;
  for (size_t i = 0; i < std::min(records.size(), kShownRecords); ++i) {
    absl::StrAppend(&text, "; record ", records[i], ": every reachable copy is damaged (",
                    copies_.MessageOf(records[i]), "); ", DecisionWait(records[i]));
  }
  if (records.size() > kShownRecords) {
    absl::StrAppend(&text, "; and ", records.size() - kShownRecords, " more such records");
  }
  return text;
}

}  // namespace penstock::client
