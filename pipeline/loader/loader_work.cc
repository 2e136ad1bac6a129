// The work of the loader's threads: they choose a row, reserve its memory, make it and deliver it.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "pipeline/loader/borrowed_row.h"
#include "pipeline/loader/loader_core.h"
#include "pipeline/loader/parked_row.h"
#include "pipeline/loader/row_trace.h"

namespace penstock {

void LoaderCore::RunThread(int thread) {
  MakerThread maker_thread;
  maker_thread.reading_since = &threads_now_[static_cast<size_t>(thread)].reading_since;
  Work work;
  {
    MutexLock lock(&mutex_);
    times_.Begins(thread);
  }
  while (NextWork(&work, thread)) Process(&work, thread, &maker_thread);
  MutexLock lock(&mutex_);
  times_.Ends(thread);
}

bool LoaderCore::NextWork(Work* work, int thread) {
  std::vector<std::shared_ptr<ParkedRow>> seen;  // destroyed after the lock is released
  MutexLock lock(&mutex_);
  if (work->session != nullptr) {
    std::shared_ptr<OpenedSession> session = std::move(work->session);
    *work = Work();
    may_revoke_ = true;
    EndCall(std::move(session));
  }
  MemoryBudget* const budget = &budget_;
  const auto* const sessions = &sessions_;
  // Returns the bytes that a row reserves at its start. A row that needs more than its session can ever have starts
  // too, and fails.
  const auto start_bytes_of = [budget, sessions](uint64_t id, const ScheduledRow& row) {
    const uint64_t wanted = row.need > 0 ? row.need : sessions->at(id)->estimate;
    return std::min(wanted, budget->LargestTake(id));
  };
  const auto need_of = [&](uint64_t id, const ScheduledRow& row, const RowScheduler::Blocked* behind) {
    RowScheduler::Need need;
    const uint64_t start_bytes = start_bytes_of(id, row), held = row.held_bytes();
    need.bytes = start_bytes > held ? start_bytes - held : 0;
    need.shortage = budget->Shortage(id, need.bytes);
    need.reserved = budget->InsideReserve(id, need.bytes);
    if (need.shortage > 0 || need.reserved || behind == nullptr) return need;
    // Grant shared memory only to a session that uses less of it than the blocked session, unless the memory is
    // reserved for the blocked one.
    const bool first = !behind->need.reserved && budget->Common(id) + need.bytes < budget->Common(behind->session);
    if (!first) need.shortage = need.bytes;
    return need;
  };
  while (!stop_) {
    if (thread >= wanted_threads_) {
      StandBy(thread);
      continue;
    }
    RowScheduler::Choice choice = scheduler_.Pick(need_of);
    if (choice.picked.has_value()) {
      work->session = sessions_.at(choice.picked->session);
      work->picked = *std::move(choice.picked);
      if (WaitsForOther(work)) continue;
      ScheduledRow& row = work->picked.row;
      const uint64_t start_bytes = start_bytes_of(work->session->id, row), held = row.held_bytes();
      if (held > 0) {
        row.reads.fetched->held->Take();
        --holders_;
      }
      work->held = std::max(start_bytes, held);
      PS_CHECK(budget_.Take(work->session->id, work->held - held));
      times_.HasRow(thread);
      short_of_memory_ = false;
      thread_jobs_[static_cast<size_t>(thread)] = work->session->activity;
      ++work->session->calls;
      ++work->session->making;
      work->ahead = scheduler_.Announce(work->session->id, static_cast<size_t>(std::max(0, options_.read_ahead_rows)));
      work->requested = work->session->requested;
      work->range_room = RangeRoom();
      work->fetch_ahead = !choice.blocked.has_value();
      TrimListed(work->session.get());
      if (waiting_threads_ > 0 && !scheduler_.empty()) work_.NotifyOne();
      // Other sessions may always find a row that fits. A blocked row whose memory is reserved does not wait for them.
      if (choice.blocked.has_value() && choice.blocked->need.reserved) {
        if (may_revoke_ && !revoking_) {
          RevokeFor(*choice.blocked);
        } else {
          ReleaseKept(*choice.blocked);
        }
      }
      return true;
    }
    if (ReadNext(&seen)) continue;
    if (choice.blocked.has_value() && ReleaseKept(*choice.blocked)) continue;
    if (ReleaseHolder(choice.blocked)) continue;
    if (choice.blocked.has_value() && may_revoke_ && !revoking_) {
      RevokeFor(*choice.blocked);
      continue;
    }
    LookAtIdle();
    short_of_memory_ = !scheduler_.empty();
    idle_.Begins(options_.clock->Now());
    ++waiting_threads_;
    // While records are in flight, storage is slow, and therefore this loader is busy.
    if (WaitsForStorage()) {
      times_.HasRow(thread);
    } else {
      times_.HasNone(thread);
    }
    work_.Wait(&mutex_);
    --waiting_threads_;
    idle_.Ends(options_.clock->Now());
  }
  return false;
}

void LoaderCore::StandBy(int thread) {
  times_.HasNone(thread);
  // The notification that woke this thread may announce a row; pass it on.
  if (waiting_threads_ > 0 && !scheduler_.empty()) work_.NotifyOne();
  while (!stop_ && thread >= wanted_threads_) spare_.Wait(&mutex_);
}

bool LoaderCore::ReleaseKept(const RowScheduler::Blocked& blocked) {
  if (ranges_ == nullptr || ranges_->kept() == 0) return false;
  mutex_.Unlock();
  ranges_->ReleaseKept(std::max<uint64_t>(1, blocked.need.shortage));
  mutex_.Lock();
  return true;
}

bool LoaderCore::ReleaseHolder(const std::optional<RowScheduler::Blocked>& blocked) {
  if (holders_ == 0) return false;
  const RowScheduler::Holder holder =
      scheduler_.LastHolder(blocked.has_value() ? std::optional(blocked->session) : std::nullopt);
  if (holder.row == nullptr) return false;
  // The record is read again when there is memory for it.
  budget_.Release(holder.session, holder.row->reads.fetched->held->Take());
  holder.row->reads.fetched->Drop();
  --holders_;
  return true;
}

void LoaderCore::RevokeFor(const RowScheduler::Blocked& blocked) {
  revoking_ = true;
  may_revoke_ = false;
  const uint64_t shortage = blocked.need.shortage;
  uint64_t freed = 0;
  if (ranges_ != nullptr) {
    mutex_.Unlock();
    freed = ranges_->Release(shortage);
    mutex_.Lock();
  }
  for (const MemoryBudget::Account lender : budget_.Lenders(blocked.session, blocked.need.bytes)) {
    if (freed >= shortage) break;
    const auto it = sessions_.find(lender);
    if (it == sessions_.end()) continue;
    std::shared_ptr<OpenedSession> session = it->second;
    ++session->calls;
    mutex_.Unlock();
    freed += session->sink->Revoke(shortage - freed, lender != blocked.session);
    mutex_.Lock();
    EndCall(std::move(session));
  }
  if (ranges_ != nullptr && freed < shortage) {
    mutex_.Unlock();
    ranges_->BreakOff(shortage - freed);
    mutex_.Lock();
  }
  revoking_ = false;
  if (freed > 0) may_revoke_ = true;
}

LoaderCore::Outcome LoaderCore::MakeRow(Work* work, MakerThread* thread) {
  const OpenedSession& session = *work->session;
  const LoadJob& job = *session.job;
  ScheduledRow& row = work->picked.row;
  const RowSchema& schema = job.pipeline().schema();
  Outcome outcome;
  const auto book = [&](uint64_t bytes) {
    outcome.need = std::max(outcome.need, bytes + session.overhead);
    return Grow(work, bytes + session.overhead);
  };
  const auto get_slot = [&]() -> RowSlot* {
    if (!row.slot.has_value()) {
      if (session.options.books_slots) {
        row.slot = session.sink->Book(row.request);
        row.slot->ragged.resize(schema.columns.size());
      } else {
        outcome.result.fixed = AllocateBlock(session.options.row_memory, job.fixed_bytes());
        row.slot.emplace();
        PointInto(schema, outcome.result.fixed.get(), &*row.slot);
      }
    }
    return &*row.slot;
  };
  using Borrow = LoaderSessionOptions::Borrow;
  const auto borrow = [&](const std::shared_ptr<const CachedRow>& cached) {
    const Borrow may = session.options.books_slots ? Borrow::kNone : session.options.borrow;
    if (may == Borrow::kNone || (may == Borrow::kSharedFiles && !cached->in_shared_file)) return false;
    outcome.result.fixed = BorrowedRow::Block(cached);
    return true;
  };
  MadeRow* const made = &outcome.made;
  StageTimes& times = thread->scratch.times();
  outcome.traced = options_.trace != nullptr && options_.trace->on();
  outcome.timed = thread->sampler.Next() || outcome.traced;
  if (outcome.timed) times.Start(options_.clock, job.pipeline().stages().size(), outcome.traced);
  const DecidedRecords& decided = session.options.decided != nullptr ? *session.options.decided : *job.decided();
  outcome.end = maker_.Make(job, session.id, decided, row.request, work->sharers, book, get_slot, borrow, thread,
                            &row.reads, made);
  times.Stop();
  if (outcome.end == RowMaker::End::kMade && made->status.ok()) {
    // Usually much less than was reserved. A cast may widen RAGGED numbers beyond that.
    if (row.slot.has_value()) {  // borrowed rows have none
      for (const std::string& column : row.slot->ragged) outcome.kept += column.empty() ? 0 : column.capacity();
    }
    if (!session.options.books_slots && !made->masked) outcome.kept += job.fixed_bytes();
    const absl::StatusOr<RowMaker::Answer> answer = book(outcome.kept);
    if (!answer.ok()) {
      made->status = answer.status();
    } else if (*answer == RowMaker::Answer::kPutBack) {
      outcome.end = RowMaker::End::kPutBack;
    }
  }
  if (outcome.end != RowMaker::End::kMade) {
    outcome.kept = 0;
    if (!session.options.books_slots) row.slot.reset();
    outcome.result.fixed.reset();
    return outcome;
  }
  RowResult& result = outcome.result;
  result.request = row.request;
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
  if (!made->status.ok()) outcome.kept = 0;
  outcome.kept = std::min(outcome.kept + session.overhead, work->held);
  if (!made->status.ok() || made->masked) result.fixed.reset();
  if (made->status.ok() && row.slot.has_value()) result.ragged = std::move(row.slot->ragged);
  return outcome;
}

void LoaderCore::Process(Work* work, int number, MakerThread* thread) {
  OpenedSession& session = *work->session;
  for (const RowRequest& row : work->ahead) maker_.Announce(*session.job, session.id, row, thread);
  if (ranges_ != nullptr && !session.job->reader().HasLowLatency()) {
    ranges_->LookAhead(session.id, work->picked.row.request, work->requested, work->range_room,
                       [&session](uint64_t epoch, uint64_t position, uint64_t record) {
                         return session.sink->WillAsk(epoch, position, record);
                       });
  }
  ThreadNow& thread_now = threads_now_[static_cast<size_t>(number)];
  const Nanos start = options_.clock->Now();
  thread_now.row_since.store(start);
  Outcome outcome = MakeRow(work, thread);
  if (outcome.timed) thread->stages = thread->scratch.times().own();
  if (thread->scratch.held_bytes() + thread->record.capacity() > sizes_.thread_scratch_bytes) {
    thread->scratch.Clear();
    thread->record.Clear();
  }
  const Nanos took = options_.clock->Now() - start;
  if (outcome.timed) thread->sampler.AddTime(took);
  if (outcome.traced) {
    TraceRow({number, session.job.get(), work->picked.row.request, outcome.end, start, start + took}, outcome.made,
             thread->scratch.times(), options_.trace.get());
  }
  ReadAttempts& reads = work->picked.row.reads;
  // The row has used the fetched record, or no longer needs it.
  std::shared_ptr<FetchedRecord> fetched = reads.fetched;
  if (fetched != nullptr) fetched->Drop();
  const uint64_t record = outcome.made.missing_record;
  std::shared_ptr<ParkedRow> parked;
  bool fetch = false;
  std::vector<std::shared_ptr<ParkedRow>> seen;  // destroyed after the lock is released
  {
    MutexLock lock(&mutex_);
    --session.making;
    EndMaking(work);
    session.activity->AddMaking(took, outcome.made.read_time);
    thread_now.row_since.store(-1);
    fetch = outcome.end == RowMaker::End::kNotRead && reads_ < reads_under_way_;
    if (!fetch) budget_.Release(session.id, work->held - outcome.kept);
    switch (outcome.end) {
      case RowMaker::End::kPutBack:
        work->picked.row.need = outcome.need;
        scheduler_.PutBack(std::move(work->picked));
        return;
      case RowMaker::End::kNotReady:
        parked = Park(&session, std::move(work->picked));
        break;
      case RowMaker::End::kNotRead: {
        work->picked.row.need = std::max(work->picked.row.need, outcome.need);
        if (fetch) {
          parked = ParkToRead(&session, std::move(work->picked));
          fetched = parked->picked_.row.reads.fetched;
        } else {
          const bool urgent = work->picked.row.request.urgent;
          parked = Park(&session, std::move(work->picked));
          unread_.insert(urgent ? unread_.begin() : unread_.end(), parked);
        }
        break;
      }
      case RowMaker::End::kMade:
        Count(outcome, took, &session);
        if (outcome.timed) session.activity->AddStages(thread->stages, outcome.made.read_time);
        // The row may have waited to read and needed no read. The next row can read instead.
        ReadNext(&seen);
        break;
    }
    if (waiting_threads_ > 0 && !scheduler_.empty()) work_.NotifyOne();
  }
  if (fetch) {
    Fetch(std::move(parked), session, record, work->held, std::move(fetched));
    return;
  }
  if (outcome.end == RowMaker::End::kNotReady) session.job->reader().WhenReady(record, std::move(parked));
  if (outcome.end != RowMaker::End::kMade) return;
  if (work->fetch_ahead && !session.job->reader().HasLowLatency()) FetchAhead(&session, thread);
  // This thread must not share any state of the row once the sink has it.
  fetched.reset();
  work->picked.row = ScheduledRow();
  outcome.made = MadeRow();
  outcome.result.bytes = std::make_unique<BudgetLease>(shared_from_this(), session.id, outcome.kept);
  session.sink->OnRow(std::move(outcome.result));
}

void LoaderCore::Count(const Outcome& outcome, Nanos took, OpenedSession* session) {
  scheduler_.Done(session->id, static_cast<uint64_t>(std::max<Nanos>(took, 0)));
  // The estimate rises at once and falls slowly, so that few rows have to reserve twice.
  if (outcome.need < session->estimate) session->estimate -= (session->estimate - outcome.need) / 64;
  if (outcome.made.status.ok()) ++stats_.rows;
  session->activity->AddRow(outcome.made.bytes_read, outcome.result.request.epoch, outcome.result.request.position,
                            session->shares + 1);
  CountCost(outcome.made, took, session);
  if (!outcome.made.fault.ok() || !outcome.made.status.ok()) ++stats_.failed_rows;
  stats_.bytes_read += outcome.made.bytes_read;
  if (!session->job->reader().HasLowLatency()) stats_.remote_used_bytes += outcome.made.bytes_read;
  stats_.read_seconds += static_cast<double>(outcome.made.read_time) / kSecond;
  stats_.storage_reads += outcome.made.storage_reads;
  stats_.storage_seconds += static_cast<double>(outcome.made.storage_time) / kSecond;
  stats_.compute_seconds += static_cast<double>(took - outcome.made.read_time) / kSecond;
}

}  // namespace penstock
