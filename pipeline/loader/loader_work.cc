// What the loader's threads do: the next row, its memory, its making, and handing it over.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "pipeline/loader/borrowed_row.h"
#include "pipeline/loader/loader_core.h"
#include "pipeline/loader/row_trace.h"

namespace penstock {
namespace {

// Rows whose records are looked for between two that are made: far more than are made meanwhile.
constexpr int kLookedForAtOnce = 16;
// Where all of them were here, the next are looked for later, by so many rows at most.
constexpr int kMostLookLater = 255;

}  // namespace

class LoaderCore::ParkedRow final : public ReadyWaiter {
 public:
  ParkedRow(std::weak_ptr<LoaderCore> core, RowScheduler::Picked picked, std::shared_ptr<const LoadJob> job)
      : picked_(std::move(picked)),
        core_(std::move(core)),
        session_(picked_.session),
        job_(std::move(job)),
        request_(picked_.row.request) {}
  void OnReady(std::shared_ptr<const void> hold) override {
    if (const std::shared_ptr<LoaderCore> core = core_.lock()) core->Unpark(*this, std::move(hold));
  }
  uint64_t session() const { return session_; }
  bool urgent() const { return request_.urgent; }
  const LoadJob& job() const { return *job_; }
  const RowRequest& request() const { return request_; }

  RowScheduler::Picked picked_;  // guarded by the core's lock

 private:
  const std::weak_ptr<LoaderCore> core_;
  const uint64_t session_;
  const std::shared_ptr<const LoadJob> job_;
  const RowRequest request_;
};

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
  std::vector<std::shared_ptr<ParkedRow>> seen;  // go outside the lock
  MutexLock lock(&mutex_);
  if (work->session != nullptr) {
    std::shared_ptr<OpenedSession> session = std::move(work->session);
    *work = Work();
    may_revoke_ = true;
    EndCall(std::move(session));
  }
  MemoryBudget* const budget = &budget_;
  const auto* const sessions = &sessions_;
  // What a row grabs at its start. A row that can never have what it needs starts all the same, to fail.
  const auto grab_of = [budget, sessions](uint64_t id, const ScheduledRow& row) {
    const uint64_t wanted = row.need > 0 ? row.need : sessions->at(id)->estimate;
    return std::min(wanted, budget->LargestTake(id));
  };
  const auto need_of = [&](uint64_t id, const ScheduledRow& row, const RowScheduler::Blocked* behind) {
    RowScheduler::Need need;
    const uint64_t grab = grab_of(id, row), held = row.held_bytes();
    need.bytes = grab > held ? grab - held : 0;
    need.shortage = budget->Shortage(id, need.bytes);
    need.reserved = budget->InsideReserve(id, need.bytes);
    if (need.shortage > 0 || need.reserved || behind == nullptr) return need;
    // Common memory, and somebody waits: only for who has less of it than he, and not where it is reserved for him.
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
      const uint64_t grab = grab_of(work->session->id, row), held = row.held_bytes();
      if (held > 0) {
        row.reads.brought->held->Take();
        --holders_;
      }
      work->held = std::max(grab, held);
      PS_CHECK(budget_.Take(work->session->id, work->held - held));
      times_.HasRow(thread);
      short_of_memory_ = false;
      thread_jobs_[static_cast<size_t>(thread)] = work->session->activity;
      ++work->session->calls;
      ++work->session->making;
      work->ahead = scheduler_.Announce(work->session->id, static_cast<size_t>(std::max(0, options_.read_ahead_rows)));
      work->asked = work->session->asked;
      work->bring_ahead = !choice.blocked.has_value();
      TrimListed(work->session.get());
      if (waiting_threads_ > 0 && !scheduler_.empty()) work_.NotifyOne();
      // Others may always find something that fits: whose memory is reserved does not wait for that to end.
      if (choice.blocked.has_value() && choice.blocked->need.reserved) {
        if (may_revoke_ && !revoking_) {
          RevokeFor(*choice.blocked);
        } else {
          TakeKept(*choice.blocked);
        }
      }
      return true;
    }
    if (ReadNext(&seen)) continue;
    if (choice.blocked.has_value() && TakeKept(*choice.blocked)) continue;
    if (TakeFromHolder(choice.blocked)) continue;
    if (choice.blocked.has_value() && may_revoke_ && !revoking_) {
      RevokeFor(*choice.blocked);
      continue;
    }
    LookAtIdle();
    short_of_memory_ = !scheduler_.empty();
    idle_.Begins(options_.clock->Now());
    ++waiting_threads_;
    // While records are on their way it is storage that is slow, and this loader with it.
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
  // It may have been woken for a row.
  if (waiting_threads_ > 0 && !scheduler_.empty()) work_.NotifyOne();
  while (!stop_ && thread >= wanted_threads_) spare_.Wait(&mutex_);
}

bool LoaderCore::TakeKept(const RowScheduler::Blocked& blocked) {
  if (ranges_ == nullptr || ranges_->kept() == 0) return false;
  mutex_.Unlock();
  ranges_->GiveKeptBack(std::max<uint64_t>(1, blocked.need.shortage));
  mutex_.Lock();
  return true;
}

bool LoaderCore::TakeFromHolder(const std::optional<RowScheduler::Blocked>& blocked) {
  if (holders_ == 0) return false;
  const RowScheduler::Holder holder =
      scheduler_.LastHolder(blocked.has_value() ? std::optional(blocked->session) : std::nullopt);
  if (holder.row == nullptr) return false;
  // It is read again when there is room for it.
  budget_.Release(holder.session, holder.row->reads.brought->held->Take());
  holder.row->reads.brought->Drop();
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
    freed = ranges_->GiveBack(shortage);
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
    if (may == Borrow::kNone || (may == Borrow::kLent && !cached->lent)) return false;
    outcome.result.fixed = BorrowedRow::Block(cached);
    return true;
  };
  MadeRow* const made = &outcome.made;
  StageTimes& times = thread->scratch.times();
  outcome.traced = options_.trace != nullptr && options_.trace->on();
  outcome.timed = thread->sampler.Next() || outcome.traced;
  if (outcome.timed) times.Start(options_.clock, job.pipeline().stages().size(), outcome.traced);
  outcome.end =
      maker_.Make(job, session.id, row.request, work->sharers, book, get_slot, borrow, thread, &row.reads, made);
  times.Stop();
  if (outcome.end == RowMaker::End::kMade && made->status.ok()) {
    // Usually far below what was booked; a cast may widen ragged numbers beyond it.
    if (row.slot.has_value()) {  // none was booked for what is borrowed
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
  if (ranges_ != nullptr && !session.job->reader().ReadsAtOnce()) {
    ranges_->LookAhead(session.id, work->picked.row.request, work->asked,
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
  if (outcome.timed) thread->sampler.Took(took);
  if (outcome.traced) {
    TraceRow({number, session.job.get(), work->picked.row.request, outcome.end, start, start + took}, outcome.made,
             thread->scratch.times(), options_.trace.get());
  }
  ReadTries& reads = work->picked.row.reads;
  // What was brought is in the row, or of no use any more, and its memory is given back.
  std::shared_ptr<BroughtRecord> brought = reads.brought;
  if (brought != nullptr) brought->Drop();
  const uint64_t record = outcome.made.missing_record;
  std::shared_ptr<ParkedRow> parked;
  bool bring = false;
  std::vector<std::shared_ptr<ParkedRow>> seen;  // go outside the lock
  {
    MutexLock lock(&mutex_);
    --session.making;
    EndMaking(work);
    session.activity->AddMaking(took, outcome.made.read_time);
    thread_now.row_since.store(-1);
    bring = outcome.end == RowMaker::End::kNotRead && reads_ < reads_under_way_;
    if (!bring) budget_.Release(session.id, work->held - outcome.kept);
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
        if (bring) {
          parked = ParkToRead(&session, std::move(work->picked));
          brought = parked->picked_.row.reads.brought;
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
        // One that waited for its read may have needed none: its turn is the next one's.
        ReadNext(&seen);
        break;
    }
    if (waiting_threads_ > 0 && !scheduler_.empty()) work_.NotifyOne();
  }
  if (bring) {
    Bring(std::move(parked), session, record, work->held, std::move(brought));
    return;
  }
  if (outcome.end == RowMaker::End::kNotReady) session.job->reader().WhenReady(record, std::move(parked));
  if (outcome.end != RowMaker::End::kMade) return;
  if (work->bring_ahead && !session.job->reader().ReadsAtOnce()) BringAhead(&session, thread);
  // Nothing that the row shares is held here any more when the sink has it.
  brought.reset();
  work->picked.row = ScheduledRow();
  outcome.made = MadeRow();
  outcome.result.bytes = std::make_unique<BudgetGrab>(shared_from_this(), session.id, outcome.kept);
  session.sink->OnRow(std::move(outcome.result));
}

void LoaderCore::Count(const Outcome& outcome, Nanos took, OpenedSession* session) {
  scheduler_.Done(session->id, static_cast<uint64_t>(std::max<Nanos>(took, 0)));
  // Follows the rows' needs: up at once, down slowly, so that few rows have to ask twice.
  if (outcome.need < session->estimate) session->estimate -= (session->estimate - outcome.need) / 64;
  if (outcome.made.status.ok()) ++stats_.rows;
  session->activity->AddRow(outcome.made.bytes_read, outcome.result.request.epoch, outcome.result.request.position,
                            session->shares + 1);
  CountCost(outcome.made, took, session);
  if (!outcome.made.fault.ok() || !outcome.made.status.ok()) ++stats_.failed_rows;
  stats_.bytes_read += outcome.made.bytes_read;
  if (!session->job->reader().ReadsAtOnce()) stats_.far_used_bytes += outcome.made.bytes_read;
  stats_.read_seconds += static_cast<double>(outcome.made.read_time) / kSecond;
  stats_.storage_reads += outcome.made.storage_reads;
  stats_.storage_seconds += static_cast<double>(outcome.made.storage_time) / kSecond;
  stats_.compute_seconds += static_cast<double>(took - outcome.made.read_time) / kSecond;
}

bool LoaderCore::WaitsForOther(Work* work) {
  const OpenedSession& session = *work->session;
  const RowRequest& request = work->picked.row.request;
  work->sharers = session.shares;
  work->making.reset();
  // One that holds memory goes on with it.
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
  if (row.reads.brought == nullptr) row.reads.brought = std::make_shared<BroughtRecord>();
  row.looked_for = true;
  const AskedRows::Place place{row.request.epoch, row.request.position};
  session->asked.alone = std::max(session->asked.alone.value_or(place), place);
  ++reads_;
  return Park(session, std::move(picked));
}

void LoaderCore::BringAhead(OpenedSession* session, MakerThread* thread) {
  bool began = false;
  for (int looked = 0; looked < kLookedForAtOnce; ++looked) {
    RowScheduler::Picked picked;
    {
      MutexLock lock(&mutex_);
      if (looked == 0 && session->look_later > 0) {
        --session->look_later;
        return;
      }
      // What others make too is theirs to bring, or to find.
      if (reads_ >= reads_under_way_ || session->shares > 0) return;
      std::optional<RowScheduler::Picked> next = scheduler_.PickToLookFor(session->id);
      if (!next.has_value()) return;
      picked = *std::move(next);
    }
    const std::optional<RowMaker::ToBring> to_bring =
        maker_.RecordToBring(*session->job, session->id, picked.row.request, thread);
    const uint64_t held = to_bring.has_value() ? to_bring->bytes + session->overhead : 0;
    std::shared_ptr<ParkedRow> parked;
    std::shared_ptr<BroughtRecord> brought;
    {
      MutexLock lock(&mutex_);
      // Rows that can be made go on, also where they need more than was thought.
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
      brought = parked->picked_.row.reads.brought;
    }
    began = true;
    Bring(std::move(parked), *session, to_bring->record, held, std::move(brought));
  }
  if (began) return;
  // All were here: so are the next ones, as likely as not.
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

void LoaderCore::Bring(std::shared_ptr<ParkedRow> row, const OpenedSession& session, uint64_t record, uint64_t held,
                       std::shared_ptr<BroughtRecord> brought) {
  brought->record = record;
  brought->held = std::make_unique<BudgetGrab>(shared_from_this(), session.id, held);
  const CallOptions options{.priority = row->urgent() ? CallPriority::kUrgent : CallPriority::kNormal,
                            .stop = session.stop_reads.get_token()};
  const Nanos start = options_.clock->Now();
  const auto over = [core = weak_from_this(), row, start] {
    const std::shared_ptr<LoaderCore> self = core.lock();
    if (self == nullptr) return;
    self->CountRead(row->session(), start);
    self->EndRead();
    self->Unpark(*row, nullptr);
  };
  if (ranges_ != nullptr) {
    brought->Drop();
    // Who waits for a range is no read of his own.
    const auto in_range = [core = weak_from_this(), row, start] {
      const std::shared_ptr<LoaderCore> self = core.lock();
      if (self == nullptr) return;
      self->CountRead(row->session(), start);
      self->EndWaitForRange();
      self->Unpark(*row, nullptr);
    };
    if (ranges_->WhenOver(*session.job, record, in_range)) {
      std::vector<std::shared_ptr<ParkedRow>> seen;  // go outside the lock
      MutexLock lock(&mutex_);
      ++in_ranges_;  // after its end, where that was at once
      --reads_;
      ReadNext(&seen);
      return;
    }
    brought->record = record;
  }
  BroughtRecord* const out = brought.get();
  const bool begun =
      session.job->reader().BringRecord(brought, options, [core = weak_from_this(), row, out, record, start, over] {
        const std::shared_ptr<LoaderCore> self = core.lock();
        if (self == nullptr) return;
        out->took = self->options_.clock->Now() - start;
        self->CountFetched(out->bytes.ok() ? out->bytes->size() : 0);
        TraceRead(row->job(), row->request(), record, start, start + out->took, self->options_.trace.get());
        over();
      });
  if (begun) return;
  // Its shard has been closed meanwhile.
  brought->Drop();
  brought->held.reset();
  EndRead();
  session.job->reader().WhenReady(record, std::move(row));
}

void LoaderCore::CountRead(uint64_t id, Nanos start) {
  const Nanos took = options_.clock->Now() - start;
  MutexLock lock(&mutex_);
  const auto session = sessions_.find(id);
  if (session != sessions_.end()) session->second->activity->AddReadAside(took);
}

void LoaderCore::CountFetched(uint64_t bytes) {
  MutexLock lock(&mutex_);
  ++stats_.far_requests;
  stats_.far_bytes += bytes;
}

void LoaderCore::EndRead() {
  std::vector<std::shared_ptr<ParkedRow>> seen;  // go outside the lock
  MutexLock lock(&mutex_);
  --reads_;
  ReadNext(&seen);
  if (!WaitsForStorage() && waiting_threads_ > 0) work_.NotifyAll();  // they have nothing to do from now on
}

void LoaderCore::EndWaitForRange() {
  MutexLock lock(&mutex_);
  --in_ranges_;
  if (!WaitsForStorage() && waiting_threads_ > 0) work_.NotifyAll();
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
