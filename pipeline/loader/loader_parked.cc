// Parks rows, and fetches their records.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "pipeline/loader/loader_core.h"
#include "pipeline/loader/row_trace.h"

namespace penstock::loader {

// Notifies the core when the shard of a parked row is ready. The row keeps it alive.
class LoaderCore::ShardWaiter final : public ReadyWaiter {
 public:
  ShardWaiter(std::weak_ptr<LoaderCore> core, TaskId row) : core_(std::move(core)), row_(row) {}
  void OnReady(std::shared_ptr<const void> hold) override {
    if (const std::shared_ptr<LoaderCore> core = core_.lock()) core->Unpark(row_, std::move(hold));
  }

 private:
  const std::weak_ptr<LoaderCore> core_;
  const TaskId row_;
};

bool LoaderCore::WaitsForOther(OpenedSession* session, TakenRow* row) {
  const RowRequest& request = row->task->request;
  row->sharers = session->shares;
  // A row that holds memory continues with it.
  if (row->sharers == 0 || caches_.rows()->limit() == 0 || row->task->held_bytes() > 0) return false;
  const cache::RowKey key{session->job->shared_space(), request.epoch, request.position};
  const auto [it, first] = being_made_.try_emplace(key);
  if (first) {
    row->making = key;
    return false;
  }
  it->second.push_back(row->task->id());
  Park(session, std::move(row->task), RowState::kAwaitsSession);
  return true;
}

void LoaderCore::EndMaking(TakenRow* row) {
  if (!row->making.has_value()) return;
  const auto it = being_made_.find(*row->making);
  row->making.reset();
  for (const TaskId waiting : it->second) UnparkHere(waiting, nullptr);
  being_made_.erase(it);
}

RowTask* LoaderCore::Park(OpenedSession* session, std::unique_ptr<RowTask> row, RowState state) {
  scheduler_.Park(session->id);
  row->MoveTo(state);
  RowTask* const parked = row.get();
  session->parked.emplace(parked->id().number, std::move(row));
  return parked;
}

RowTask* LoaderCore::ParkToRead(OpenedSession* session, std::unique_ptr<RowTask> row) {
  if (row->fetched == nullptr) row->fetched = std::make_shared<FetchedRecord>();
  row->fetched->damage = std::exchange(row->progress.damage, absl::OkStatus());
  row->looked_for = true;
  const RequestedSpan::Place place{row->request.epoch, row->request.position};
  session->requested.alone = std::max(session->requested.alone.value_or(place), place);
  slots_.Begin();
  return Park(session, std::move(row), RowState::kReading);
}

std::shared_ptr<ReadyWaiter> LoaderCore::ParkForShard(OpenedSession* session, std::unique_ptr<RowTask> row) {
  auto waiter = std::make_shared<ShardWaiter>(weak_from_this(), row->id());
  row->hold = waiter;
  Park(session, std::move(row), RowState::kAwaitsShard);
  return waiter;
}

std::shared_ptr<ReadyWaiter> LoaderCore::AwaitShard(TaskId id) {
  auto waiter = std::make_shared<ShardWaiter>(weak_from_this(), id);
  MutexLock lock(&mutex_);
  const auto session = sessions_.find(id.session);
  if (session == sessions_.end() || session->second->closing) return nullptr;
  const auto row = session->second->parked.find(id.number);
  if (row == session->second->parked.end()) return nullptr;
  row->second->MoveTo(RowState::kAwaitsShard);
  row->second->hold = waiter;
  return waiter;
}

void LoaderCore::Unpark(TaskId id, std::shared_ptr<const void> hold) {
  MutexLock lock(&mutex_);
  UnparkHere(id, std::move(hold));
}

bool LoaderCore::UnparkHere(TaskId id, std::shared_ptr<const void> hold) {
  const auto session = sessions_.find(id.session);
  if (session == sessions_.end() || session->second->closing) return false;
  const auto found = session->second->parked.find(id.number);
  if (found == session->second->parked.end()) return false;
  LookAtIdle();
  std::unique_ptr<RowTask> row = std::move(found->second);
  session->second->parked.erase(found);
  if (hold != nullptr) row->hold = std::move(hold);
  row->MoveTo(RowState::kQueued);
  if (row->held_bytes() > 0) ++holders_;
  scheduler_.PutBackParked(std::move(row));
  may_revoke_ = true;
  WakeOne();
  return true;
}

LoaderCore::Fetching LoaderCore::FetchingOf(const OpenedSession& session, const RowTask& row, uint64_t record,
                                            uint64_t held) {
  return {row.id(), session.job, row.request, row.fetched, session.stop_reads.get_token(), record, held};
}

void LoaderCore::Fetch(Fetching row) {
  const std::shared_ptr<FetchedRecord> fetched = std::move(row.fetched);
  const uint64_t record = row.record;
  fetched->record = record;
  fetched->held = std::make_unique<BudgetLease>(shared_from_this(), row.id.session, row.held);
  const storage::CallOptions options{
      .priority = row.request.urgent ? storage::CallPriority::kUrgent : storage::CallPriority::kNormal,
      .stop = row.stop};
  const Nanos start = options_.clock->Now();
  const auto over = [core = weak_from_this(), id = row.id, start](bool in_range) {
    const std::shared_ptr<LoaderCore> self = core.lock();
    if (self == nullptr) return;
    self->CountRead(id.session, start);
    self->EndRead(in_range);
    self->Unpark(id, nullptr);
  };
  if (ranges_ != nullptr && fetched->damage.ok()) {
    fetched->Drop();
    if (ranges_->WhenOver(*row.job, record, [over] { over(true); })) {
      MutexLock lock(&mutex_);
      slots_.MoveToRange();
      ReadNext();
      return;
    }
    fetched->record = record;
  }
  FetchedRecord* const out = fetched.get();
  // Storage with low latency is read here only past its caches, after a damaged read. The callback may run after the
  // end of the storage, so it does not call the storage.
  const bool is_remote = !row.job->reader().HasLowLatency();
  const bool begun = row.job->reader().FetchRecord(
      fetched, options,
      [core = weak_from_this(), job = row.job, request = row.request, out, record, start, over, is_remote] {
        const std::shared_ptr<LoaderCore> self = core.lock();
        if (self == nullptr) return;
        out->took = self->options_.clock->Now() - start;
        if (is_remote) self->CountFetched(out->bytes.ok() ? out->bytes->size() : 0);
        TraceRead(*job, request, record, start, start + out->took, self->options_.trace.get());
        over(false);
      });
  if (begun) return;
  // The shard was closed meanwhile.
  fetched->Drop();
  fetched->held.reset();
  EndRead(false);
  std::shared_ptr<ReadyWaiter> waiter = AwaitShard(row.id);
  if (waiter != nullptr) row.job->reader().WhenReady(record, std::move(waiter));
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
  MutexLock lock(&mutex_);
  if (in_range) {
    slots_.EndInRange();
  } else {
    slots_.End();
  }
  ReadNext();
  if (slots_.busy()) return;
  for (const int maker : states_.idle()) times_.HasNone(maker);  // they no longer wait for storage
}

bool LoaderCore::ReadNext() {
  while (const std::optional<TaskId> row = slots_.TakeNext()) {
    if (UnparkHere(*row, nullptr)) return true;
  }
  return false;
}

}  // namespace penstock::loader
