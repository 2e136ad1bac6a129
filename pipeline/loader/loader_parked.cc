// Parks rows, and fetches their records.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "pipeline/loader/loader_core.h"
#include "pipeline/loader/parked_row.h"
#include "pipeline/loader/row_trace.h"

namespace penstock {
namespace {

// Rows whose records are checked between two rows that are made. Far more than are made in that time.
constexpr int kLookedForAtOnce = 16;
// Largest number of calls to skip after all checked records were here.
constexpr int kMostLookLater = 255;

}  // namespace

bool LoaderCore::WaitsForOther(Work* work) {
  const OpenedSession& session = *work->session;
  const RowRequest& request = work->picked.row.request;
  work->sharers = session.shares;
  work->making.reset();
  // A row that holds memory continues with it.
  if (work->sharers == 0 || rows_.limit() == 0 || work->picked.row.held_bytes() > 0) return false;
  const RowKey key{session.job->shared_space(), request.epoch, request.position};
  const auto [it, first] = being_made_.try_emplace(key);
  if (first) {
    work->making = key;
    return false;
  }
  it->second.push_back(Park(work->session.get(), std::move(work->picked)));
  return true;
}

void LoaderCore::EndMaking(Work* work) {
  if (!work->making.has_value()) return;
  const auto it = being_made_.find(*work->making);
  work->making.reset();
  for (const std::weak_ptr<ParkedRow>& waiting : it->second) {
    if (const std::shared_ptr<ParkedRow> row = waiting.lock(); row != nullptr) UnparkHere(*row, nullptr);
  }
  being_made_.erase(it);
}

std::shared_ptr<LoaderCore::ParkedRow> LoaderCore::Park(OpenedSession* session, RowScheduler::Picked picked) {
  scheduler_.Park(session->id);
  auto parked = std::make_shared<ParkedRow>(weak_from_this(), std::move(picked), session->job);
  session->parked.emplace(parked.get(), parked);
  return parked;
}

std::shared_ptr<LoaderCore::ParkedRow> LoaderCore::ParkToRead(OpenedSession* session, RowScheduler::Picked picked) {
  ScheduledRow& row = picked.row;
  if (row.reads.fetched == nullptr) row.reads.fetched = std::make_shared<FetchedRecord>();
  row.reads.fetched->damage = std::exchange(row.reads.damage, absl::OkStatus());
  row.looked_for = true;
  const RequestedSpan::Place place{row.request.epoch, row.request.position};
  session->requested.alone = std::max(session->requested.alone.value_or(place), place);
  ++reads_;
  return Park(session, std::move(picked));
}

void LoaderCore::FetchAhead(OpenedSession* session, MakerThread* thread) {
  bool began = false;
  for (int looked = 0; looked < kLookedForAtOnce; ++looked) {
    RowScheduler::Picked picked;
    {
      MutexLock lock(&mutex_);
      if (looked == 0 && session->look_later > 0) {
        --session->look_later;
        return;
      }
      // If other sessions read the same rows, the session that makes a row fetches its record; the others find it.
      if (reads_ >= reads_under_way_ || session->shares > 0) return;
      std::optional<RowScheduler::Picked> next = scheduler_.PickToLookFor(session->id);
      if (!next.has_value()) return;
      picked = *std::move(next);
    }
    const std::optional<RowMaker::ToFetch> to_fetch =
        maker_.RecordToFetch(*session->job, session->id, picked.row.request, thread);
    const uint64_t held = to_fetch.has_value() ? to_fetch->bytes + session->overhead : 0;
    std::shared_ptr<ParkedRow> parked;
    std::shared_ptr<FetchedRecord> fetched;
    {
      MutexLock lock(&mutex_);
      // Leave memory for rows that can be made, even if they need more than estimated.
      const uint64_t spare = static_cast<uint64_t>(wanted_threads_) * session->estimate;
      picked.row.looked_for = picked.row.held_bytes() > 0 || held == 0 || held > budget_.LargestTake(session->id);
      const bool begin =
          !picked.row.looked_for && reads_ < reads_under_way_ && budget_.Shortage(session->id, held + spare) == 0;
      if (!begin) {
        const bool go_on = picked.row.looked_for;
        scheduler_.PutBack(std::move(picked));
        if (waiting_threads_ > 0) work_.NotifyOne();
        if (!go_on) return;
        continue;
      }
      PS_CHECK(budget_.Take(session->id, held));
      session->looked_in_vain = 0;
      parked = ParkToRead(session, std::move(picked));
      fetched = parked->picked_.row.reads.fetched;
    }
    began = true;
    Fetch(std::move(parked), *session, to_fetch->record, held, std::move(fetched));
  }
  if (began) return;
  // All records were here. Probably the next ones are too.
  MutexLock lock(&mutex_);
  session->look_later = session->looked_in_vain = std::min(2 * session->looked_in_vain + 1, kMostLookLater);
}

void LoaderCore::Unpark(const ParkedRow& row, std::shared_ptr<const void> hold) {
  MutexLock lock(&mutex_);
  UnparkHere(row, std::move(hold));
}

bool LoaderCore::UnparkHere(const ParkedRow& row, std::shared_ptr<const void> hold) {
  const auto session = sessions_.find(row.session());
  if (session == sessions_.end() || session->second->closing) return false;
  const auto found = session->second->parked.find(&row);
  if (found == session->second->parked.end()) return false;
  LookAtIdle();
  RowScheduler::Picked picked = std::move(found->second->picked_);
  if (hold != nullptr) picked.row.hold = std::move(hold);
  session->second->parked.erase(found);
  if (picked.row.held_bytes() > 0) ++holders_;
  scheduler_.PutBackParked(std::move(picked));
  may_revoke_ = true;
  if (waiting_threads_ > 0) work_.NotifyOne();
  return true;
}

void LoaderCore::Fetch(std::shared_ptr<ParkedRow> row, const OpenedSession& session, uint64_t record, uint64_t held,
                       std::shared_ptr<FetchedRecord> fetched) {
  fetched->record = record;
  fetched->held = std::make_unique<BudgetLease>(shared_from_this(), session.id, held);
  const CallOptions options{.priority = row->urgent() ? CallPriority::kUrgent : CallPriority::kNormal,
                            .stop = session.stop_reads.get_token()};
  const Nanos start = options_.clock->Now();
  const auto over = [core = weak_from_this(), row, start](bool in_range) {
    const std::shared_ptr<LoaderCore> self = core.lock();
    if (self == nullptr) return;
    self->CountRead(row->session(), start);
    self->EndRead(in_range);
    self->Unpark(*row, nullptr);
  };
  if (ranges_ != nullptr && fetched->damage.ok()) {
    fetched->Drop();
    if (ranges_->WhenOver(*session.job, record, [over] { over(true); })) {
      // A row that waits for a range does not count as a read in flight.
      std::vector<std::shared_ptr<ParkedRow>> seen;  // destroyed after the lock is released
      MutexLock lock(&mutex_);
      ++in_ranges_;  // after the end of the wait, if that was immediate
      --reads_;
      ReadNext(&seen);
      return;
    }
    fetched->record = record;
  }
  FetchedRecord* const out = fetched.get();
  const bool begun =
      session.job->reader().FetchRecord(fetched, options, [core = weak_from_this(), row, out, record, start, over] {
        const std::shared_ptr<LoaderCore> self = core.lock();
        if (self == nullptr) return;
        out->took = self->options_.clock->Now() - start;
        self->CountFetched(out->bytes.ok() ? out->bytes->size() : 0);
        TraceRead(row->job(), row->request(), record, start, start + out->took, self->options_.trace.get());
        over(false);
      });
  if (begun) return;
  // The shard was closed meanwhile.
  fetched->Drop();
  fetched->held.reset();
  EndRead(false);
  session.job->reader().WhenReady(record, std::move(row));
}

void LoaderCore::CountRead(uint64_t id, Nanos start) {
  const Nanos took = options_.clock->Now() - start;
  MutexLock lock(&mutex_);
  const auto session = sessions_.find(id);
  if (session != sessions_.end()) session->second->activity->AddBackgroundRead(took);
}

void LoaderCore::CountFetched(uint64_t bytes) {
  MutexLock lock(&mutex_);
  ++stats_.remote_requests;
  stats_.remote_bytes += bytes;
}

void LoaderCore::EndRead(bool in_range) {
  std::vector<std::shared_ptr<ParkedRow>> seen;  // destroyed after the lock is released
  MutexLock lock(&mutex_);
  --(in_range ? in_ranges_ : reads_);
  ReadNext(&seen);
  if (!WaitsForStorage() && waiting_threads_ > 0) work_.NotifyAll();  // idle threads no longer wait for storage
}

bool LoaderCore::ReadNext(std::vector<std::shared_ptr<ParkedRow>>* seen) {
  while (reads_ < reads_under_way_ && !unread_.empty()) {
    seen->push_back(unread_.front().lock());
    unread_.pop_front();
    if (seen->back() != nullptr && UnparkHere(*seen->back(), nullptr)) return true;
  }
  return false;
}

}  // namespace penstock
