// The work of the loader's makers: they choose a row, reserve its memory, make it and deliver it.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/status_place.h"
#include "pipeline/loader/borrowed_row.h"
#include "pipeline/loader/loader_core.h"
#include "pipeline/loader/row_slots.h"
#include "pipeline/loader/row_trace.h"

namespace penstock::loader {
namespace {

// The most rows that a maker makes together.
constexpr size_t kMostRows = 16;

}  // namespace

void LoaderCore::Post(int maker) {
  Task run = [self = shared_from_this(), maker] { self->Run(&self->makers_[static_cast<size_t>(maker)]); };
  if (options_.step_time == nullptr) return executor_->Post(std::move(run));
  const MakerStep next = makers_[static_cast<size_t>(maker)].next;
  executor_->PostAt(executor_->clock()->Now() + options_.step_time(next), std::move(run));
}

void LoaderCore::WakeOne() {
  const std::optional<int> maker = states_.Wake();
  if (!maker.has_value()) return;
  activity_.Resumes();
  Post(*maker);
}

void LoaderCore::Run(Maker* maker) {
  {
    MutexLock lock(&mutex_);
    times_.Runs(maker->number);
  }
  while (Step(maker)) {
    if (options_.step_time != nullptr) return Post(maker->number);
  }
}

void LoaderCore::EndRun(int maker) {
  times_.Rests(maker);
  if (states_.Idle(maker)) {
    activity_.Idles();
  } else {
    times_.HasNone(maker);
    WakeForRows();  // the row that woke this maker is for another one
  }
  if (states_.running() == 0) all_ended_.NotifyAll();
}

bool LoaderCore::Step(Maker* maker) {
  switch (maker->next) {
    case MakerStep::kChoose: {
      Turn turn = NextTurn(maker);
      if (turn.next == Turn::Next::kEnd) return false;
      Finish(std::move(turn.closed));
      if (turn.revoke_for.has_value()) RevokeFor(*turn.revoke_for);
      if (turn.release_kept > 0) ranges_->ReleaseKept(turn.release_kept);
      if (turn.next == Turn::Next::kMake) maker->next = MakerStep::kMake;
      return true;
    }
    case MakerStep::kMake:
      maker->next = Make(maker) ? MakerStep::kDeliver : MakerStep::kChoose;
      return true;
    case MakerStep::kDeliver:
      Deliver(maker);
      maker->next = MakerStep::kChoose;
      return true;
  }
  return false;
}

uint64_t LoaderCore::StartBytes(const RowTask& row) const {
  const uint64_t id = row.id().session;
  const uint64_t wanted = row.need > 0 ? row.need : sessions_.at(id)->estimate;
  return std::min(wanted, budget_.LargestTake(id));
}

RowScheduler::Need LoaderCore::NeedOf(const RowTask& row, const RowScheduler::Blocked* behind) const {
  const uint64_t start_bytes = StartBytes(row), held = row.held_bytes();
  return budget_.NeedOf(row.id().session, start_bytes > held ? start_bytes - held : 0, behind);
}

LoaderCore::Turn LoaderCore::NextTurn(Maker* maker) {
  Turn turn;
  MutexLock lock(&mutex_);
  if (maker->work.session != nullptr) {
    std::shared_ptr<OpenedSession> session = std::move(maker->work.session);
    maker->work.ahead.clear();
    may_revoke_ = true;
    turn.closed = EndCall(std::move(session));
    if (turn.closed.has_value()) return turn;
  }
  // Called while the lock is held.
  const auto need_of = [this](const RowTask& row, const RowScheduler::Blocked* behind)
                           ABSL_NO_THREAD_SAFETY_ANALYSIS { return NeedOf(row, behind); };
  while (!stop_ && !states_.IsSurplus(maker->number)) {
    HoldRows();
    RowScheduler::Choice choice = scheduler_.Pick(need_of);
    if (choice.picked != nullptr) {
      const uint64_t id = choice.picked->id().session;
      const bool urgent = choice.picked->request.urgent;
      if (!TakeRow(std::move(choice.picked), &maker->work)) continue;
      while (maker->work.rows.size() < kMostRows && limited_ == 0) {
        std::unique_ptr<RowTask> more =
            scheduler_.PickMore(id, urgent, maker->work.rows.size(), choice.blocked, need_of);
        if (more == nullptr || !TakeRow(std::move(more), &maker->work)) break;
      }
      BeginWork(choice.blocked, maker, &turn);
      turn.next = Turn::Next::kMake;
      return turn;
    }
    if (ReadNext()) continue;
    if (choice.blocked.has_value() && StartsReleasing(*choice.blocked, &turn)) return turn;
    if (ReleaseHolder(choice.blocked)) continue;
    if (choice.blocked.has_value() && StartsRevoking(*choice.blocked, &turn)) return turn;
    LookAtIdle();
    short_of_memory_ = !scheduler_.empty();
    WakeForHeldRows();
    // While records are in flight, storage is slow, and therefore this loader is busy.
    if (slots_.busy()) {
      times_.HasRow(maker->number);
    } else {
      times_.HasNone(maker->number);
    }
    break;
  }
  turn.next = Turn::Next::kEnd;
  EndRun(maker->number);
  return turn;
}

bool LoaderCore::TakeRow(std::unique_ptr<RowTask> task, Work* work) {
  const std::shared_ptr<OpenedSession>& session = sessions_.at(task->id().session);
  TakenRow row;
  row.task = std::move(task);
  if (WaitsForOther(session.get(), &row)) return false;
  const uint64_t start_bytes = StartBytes(*row.task), held = row.task->held_bytes();
  if (held > 0) {
    row.task->fetched->held->Take();
    --holders_;
  }
  row.held = std::max(start_bytes, held);
  PS_CHECK(budget_.Take(session->id, row.held - held));
  row.task->MoveTo(RowState::kMaking);
  ++session->making;
  if (work->session == nullptr) work->session = session;
  work->rows.push_back(std::move(row));
  return true;
}

void LoaderCore::BeginWork(const std::optional<RowScheduler::Blocked>& blocked, Maker* maker, Turn* turn) {
  Work& work = maker->work;
  OpenedSession& session = *work.session;
  ++session.calls;
  times_.HasRow(maker->number);
  short_of_memory_ = false;
  activity_.TakesRowOf(maker->number, session.activity);
  if (!session.hints_pace.Skips()) {
    work.ahead = scheduler_.Announce(session.id, static_cast<size_t>(std::max(0, limits_.hinted_rows)));
  }
  work.requested = session.requested;
  work.expected = session.expected;
  work.range_bytes = ReadAhead::BytesForRanges(budget_.total(), budget_.reserved());
  work.fetch_ahead = !blocked.has_value();
  TrimListed(&session);
  WakeForRows();
  // Other sessions may always find a row that fits. A blocked row whose memory is reserved does not wait for them.
  if (blocked.has_value() && blocked->need.reserved && !StartsRevoking(*blocked, turn)) {
    StartsReleasing(*blocked, turn);
  }
}

bool LoaderCore::StartsReleasing(const RowScheduler::Blocked& blocked, Turn* turn) {
  if (ranges_ == nullptr || ranges_->kept() == 0) return false;
  turn->release_kept = std::max<uint64_t>(1, blocked.need.shortage);
  return true;
}

bool LoaderCore::StartsRevoking(const RowScheduler::Blocked& blocked, Turn* turn) {
  if (!may_revoke_ || revoking_) return false;
  revoking_ = true;
  may_revoke_ = false;
  turn->revoke_for = blocked;
  return true;
}

bool LoaderCore::ReleaseHolder(const std::optional<RowScheduler::Blocked>& blocked) {
  if (holders_ == 0) return false;
  RowTask* const holder = scheduler_.LastHolder(blocked.has_value() ? std::optional(blocked->account) : std::nullopt);
  if (holder == nullptr) return false;
  // The record is read again when there is memory for it.
  budget_.Release(holder->id().session, holder->fetched->held->Take());
  holder->fetched->Drop();
  --holders_;
  return true;
}

void LoaderCore::RevokeFor(const RowScheduler::Blocked& blocked) {
  const uint64_t shortage = blocked.need.shortage;
  uint64_t freed = small_ == nullptr ? 0 : small_->Release(shortage);
  if (ranges_ != nullptr && freed < shortage) freed += ranges_->Release(shortage - freed);
  std::vector<MemoryBudget::Account> lenders;
  {
    MutexLock lock(&mutex_);
    lenders = budget_.Lenders(blocked.account, blocked.need.bytes, blocked.need.capped);
  }
  for (const MemoryBudget::Account lender : lenders) {
    if (freed >= shortage) break;
    freed += Revoke(lender, shortage - freed, lender != blocked.account);
  }
  if (ranges_ != nullptr && freed < shortage) ranges_->BreakOff(shortage - freed);
  MutexLock lock(&mutex_);
  revoking_ = false;
  if (freed > 0) may_revoke_ = true;
}

uint64_t LoaderCore::Revoke(uint64_t id, uint64_t bytes, bool for_others) {
  std::shared_ptr<OpenedSession> session;
  {
    MutexLock lock(&mutex_);
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) return 0;
    session = found->second;
    ++session->calls;
  }
  const uint64_t freed = session->sink->Revoke(bytes, for_others);
  std::optional<Closed> closed;
  {
    MutexLock lock(&mutex_);
    closed = EndCall(std::move(session));
  }
  Finish(std::move(closed));
  return freed;
}

// The memory of a row that a maker has.
class LoaderCore::RowMemory final : public RowMaker::Memory {
 public:
  RowMemory(LoaderCore* core, OpenedSession* session, TakenRow* row) : core_(*core), session_(*session), row_(*row) {}

  absl::StatusOr<RowMaker::Answer> Reserve(uint64_t bytes) override {
    need_ = std::max(need_, bytes + session_.overhead);
    return core_.Grow(&session_, &row_, bytes + session_.overhead);
  }
  batch::RowSlot* Slot() override {
    std::optional<batch::RowSlot>& slot = row_.task->slot;
    if (slot.has_value()) return &*slot;
    const LoadJob& job = *session_.job;
    const batch::RowSchema& schema = job.schema();
    if (session_.options.books_slots) {
      slot = session_.sink->Book(row_.task->request);
      slot->ragged.resize(schema.columns.size());
    } else {
      row_.result.fixed = AllocateBlock(session_.options.row_memory, job.fixed_bytes());
      slot.emplace();
      PointInto(schema, row_.result.fixed.get(), &*slot);
    }
    return &*slot;
  }
  bool Borrow(const std::shared_ptr<const cache::CachedRow>& cached) override {
    using Borrow = LoaderSessionOptions::Borrow;
    const Borrow may = session_.options.books_slots ? Borrow::kNone : session_.options.borrow;
    if (may == Borrow::kNone || (may == Borrow::kSharedFiles && !cached->in_shared_file)) return false;
    row_.result.fixed = BorrowedRow::Block(cached);
    return true;
  }
  // Returns the most bytes that the row needed at once.
  uint64_t need() const { return need_; }
  // Returns the bytes that the finished row holds.
  uint64_t Content(bool masked) const {
    uint64_t bytes = 0;
    if (row_.task->slot.has_value()) {  // borrowed rows have none
      for (const std::string& column : row_.task->slot->ragged) bytes += column.empty() ? 0 : column.capacity();
    }
    if (!session_.options.books_slots && !masked) bytes += session_.job->fixed_bytes();
    return bytes;
  }

 private:
  LoaderCore& core_;
  OpenedSession& session_;
  TakenRow& row_;
  uint64_t need_ = 0;
};

void LoaderCore::TryRow(Maker* maker, bool timed, bool traced, TakenRow* row) {
  OpenedSession& session = *maker->work.session;
  const LoadJob& job = *session.job;
  RowTask& task = *row->task;
  Outcome& outcome = row->outcome;
  MadeRow* const made = &outcome.made;
  StageTimes& times = maker->context.scratch.times();
  if (timed) times.Start(options_.clock, job.pipelines().stages().size(), traced);
  const DecidedRecords& decided = session.options.decided != nullptr ? *session.options.decided : *job.decided();
  RowMemory memory(this, &session, row);
  outcome.end = maker_.Make(job, decided, row->sharers, &memory, &maker->context, &task, made);
  times.Stop();
  if (outcome.end == RowMaker::End::kMade && made->status.ok()) {
    // Usually much less than was reserved. RAGGED columns may exceed that (RaggedBound).
    outcome.kept = memory.Content(made->masked);
    const absl::StatusOr<RowMaker::Answer> answer = memory.Reserve(outcome.kept);
    if (!answer.ok()) {
      made->status = AtPlace(job.reader().Describe(made->source_record), answer.status());
    } else if (*answer == RowMaker::Answer::kPutBack) {
      outcome.end = RowMaker::End::kPutBack;
    }
  }
  outcome.need = memory.need();
  RowResult& result = row->result;
  if (outcome.end != RowMaker::End::kMade) {
    outcome.kept = 0;
    if (!session.options.books_slots) task.slot.reset();
    result.fixed.reset();
    return;
  }
  result.request = task.request;
  result.status = made->status;
  result.masked = made->masked;
  result.lenient = made->lenient;
  result.substituted = made->substituted;
  if (made->status.ok()) {
    result.fault = made->fault;
    result.fault_offset = made->fault_offset;
  }
  result.damaged_record = made->damaged_record;
  result.record_id = made->record_id;
  result.source_record = made->source_record;
  result.number = made->number;
  result.source_number = made->source_number;
  if (!made->status.ok()) outcome.kept = 0;
  outcome.kept = std::min(outcome.kept + session.overhead, row->held);
  if (!made->status.ok() || made->masked) result.fixed.reset();
  if (made->status.ok() && task.slot.has_value()) result.ragged = std::move(task.slot->ragged);
}

void LoaderCore::MakeRow(Maker* maker, TakenRow* row) {
  MakerContext& context = maker->context;
  const Nanos start = options_.clock->Now();
  const bool traced = options_.trace != nullptr && options_.trace->on();
  const bool timed = context.sampler.Next() || traced;
  TryRow(maker, timed, traced, row);
  Outcome& outcome = row->outcome;
  outcome.took = options_.clock->Now() - start;
  if (timed) {
    outcome.stages = context.scratch.times().own();
    context.sampler.AddTime(outcome.took);
  }
  if (traced) {
    TraceRow(
        {maker->number, maker->work.session->job.get(), row->task->request, outcome.end, start, start + outcome.took},
        outcome.made, context.scratch.times(), options_.trace.get());
  }
  // After TraceRow, because Clear() discards the times of the stages.
  if (context.scratch.held_bytes() + context.record.capacity() > sizes_.maker_scratch_bytes) {
    context.scratch.Clear();
    context.record.Clear();
  }
  // The row has used the fetched record, or no longer needs it.
  if (row->task->fetched != nullptr) row->task->fetched->Drop();
}

bool LoaderCore::Make(Maker* maker) {
  Work& work = maker->work;
  OpenedSession& session = *work.session;
  const bool hinted = LookAhead(maker);
  activity_.RowBegins(maker->number, options_.clock->Now());
  for (TakenRow& row : work.rows) MakeRow(maker, &row);
  AfterMaking after;
  {
    MutexLock lock(&mutex_);
    PaceHints(work, hinted);
    activity_.RowEnds(maker->number);
    stats_.planned_rows += std::exchange(maker->context.planned_rows, 0);
    for (TakenRow& row : work.rows) EndRow(&session, &row, &after);
    WakeForRows();
  }
  for (Fetching& read : after.reads) Fetch(std::move(read));
  for (auto& [record, waiter] : after.waits) session.job->reader().WhenReady(record, std::move(waiter));
  std::erase_if(work.rows, [](const TakenRow& row) { return row.task == nullptr; });
  for (TakenRow& row : work.rows) {
    row.result.bytes = std::make_unique<BudgetLease>(shared_from_this(), session.id, row.outcome.kept);
  }
  return !work.rows.empty();
}

void LoaderCore::EndRow(OpenedSession* session, TakenRow* row, AfterMaking* after) {
  Outcome& outcome = row->outcome;
  std::unique_ptr<RowTask>& task = row->task;
  const uint64_t record = outcome.made.missing_record;
  --session->making;
  EndMaking(row);
  session->activity->AddMaking(outcome.took, outcome.made.read_time);
  session->activity->throttle().AddRequests(outcome.made.own_reads);
  ++stats_.tries;
  const bool fetch = outcome.end == RowMaker::End::kNotRead && slots_.has_free();
  if (!fetch) budget_.Release(session->id, row->held - outcome.kept);
  switch (outcome.end) {
    case RowMaker::End::kPutBack:
      task->need = outcome.need;
      task->MoveTo(RowState::kAwaitsMemory);
      scheduler_.PutBack(std::move(task));
      break;
    case RowMaker::End::kNotReady:
      after->waits.emplace_back(record, ParkForShard(session, std::move(task)));
      break;
    case RowMaker::End::kNotRead:
      task->need = std::max(task->need, outcome.need);
      if (fetch) {
        after->reads.push_back(FetchingOf(*session, *ParkToRead(session, std::move(task)), record, row->held));
      } else {
        const RowTask& parked = *Park(session, std::move(task), RowState::kAwaitsReadSlot);
        slots_.Wait(parked.id(), parked.request.urgent);
      }
      break;
    case RowMaker::End::kMade:
      task->MoveTo(RowState::kDone);
      Count(outcome, task->request, session);
      if (!outcome.stages.empty()) {
        const LoadJob& job = *session->job;
        session->activity->AddStages(job.pipelines(), job.PipelineSetOf(task->progress.record), outcome.stages,
                                     outcome.made.read_time);
      }
      // The row may have waited to read and needed no read. The next row can read instead.
      ReadNext();
      break;
  }
}

void LoaderCore::Deliver(Maker* maker) {
  Work& work = maker->work;
  OpenedSession& session = *work.session;
  if (work.fetch_ahead && !session.job->reader().HasLowLatency()) ReadRequested(&session, &maker->context);
  for (TakenRow& row : work.rows) {
    // The maker must not share any state of the row once the sink has it.
    row.task.reset();
    row.outcome.made = MadeRow();  // its statuses
    session.sink->OnRow(std::move(row.result));
  }
  work.rows.clear();
}

void LoaderCore::Count(const Outcome& outcome, const RowRequest& row, OpenedSession* session) {
  const Nanos took = outcome.took;
  scheduler_.Done(session->id, static_cast<uint64_t>(std::max<Nanos>(took, 0)));
  // The estimate rises at once and falls slowly, so that few rows have to reserve twice.
  if (outcome.need < session->estimate) session->estimate -= (session->estimate - outcome.need) / 64;
  if (outcome.made.status.ok()) ++stats_.rows;
  session->activity->AddRow(outcome.made.bytes_read, row.epoch, row.position, session->shares + 1);
  session->activity->AddDatasetTime(session->job->order().SetOfRecord(outcome.made.record_id),
                                    took - outcome.made.read_time);
  CountCost(outcome.made, took, session);
  if (!outcome.made.fault.ok() || !outcome.made.status.ok()) ++stats_.failed_rows;
  stats_.bytes_read += outcome.made.bytes_read;
  if (!session->job->reader().HasLowLatency()) stats_.remote_used_bytes += outcome.made.bytes_read;
  stats_.read_seconds += static_cast<double>(outcome.made.read_time) / kSecond;
  stats_.storage_reads += outcome.made.storage_reads;
  stats_.storage_seconds += static_cast<double>(outcome.made.storage_time) / kSecond;
  stats_.compute_seconds += static_cast<double>(took - outcome.made.read_time) / kSecond;
}

void LoaderCore::CountCost(const MadeRow& made, Nanos took, OpenedSession* session) {
  // Failed and substituted rows do not represent the cost of a row.
  if (!made.status.ok() || !made.fault.ok()) return;
  RowCost cost;
  cost.from = made.from;
  cost.compute = took - made.read_time;
  cost.read = made.storage_time + made.disk_time;
  cost.cached_record = made.cached_record;
  cost.from_decoded = made.from_decoded_time;
  cost.record_bytes = made.record_bytes;
  cost.decoded_bytes = made.decoded_bytes;
  cost.row_bytes = made.row_bytes;
  const RowCosts::Saved saved = session->activity->AddCost(cost);
  saved_.record += saved.record;
  saved_.decoded += saved.decoded;
  saved_.row += saved.row;
}

}  // namespace penstock::loader
