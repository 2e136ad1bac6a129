// What the loader's threads do: the next row, its memory, its making, and handing it over.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "pipeline/loader/loader_core.h"

namespace penstock {

class LoaderCore::ParkedRow final : public ReadyWaiter {
 public:
  ParkedRow(std::weak_ptr<LoaderCore> core, RowScheduler::Picked picked)
      : picked_(std::move(picked)), core_(std::move(core)), session_(picked_.session) {}
  void OnReady(std::shared_ptr<const void> hold) override {
    if (const std::shared_ptr<LoaderCore> core = core_.lock()) core->Unpark(*this, std::move(hold));
  }
  uint64_t session() const { return session_; }

  RowScheduler::Picked picked_;  // guarded by the core's lock

 private:
  const std::weak_ptr<LoaderCore> core_;
  const uint64_t session_;
};

void LoaderCore::RunThread(int thread) {
  MakerThread maker_thread;
  Work work;
  {
    MutexLock lock(&mutex_);
    times_.Begins(thread);
  }
  while (NextWork(&work, thread)) Process(&work, &maker_thread);
  MutexLock lock(&mutex_);
  times_.Ends(thread);
}

bool LoaderCore::NextWork(Work* work, int thread) {
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
  const auto need_of = [budget, &grab_of](uint64_t id, const ScheduledRow& row, const RowScheduler::Blocked* behind) {
    RowScheduler::Need need;
    need.bytes = grab_of(id, row);
    need.shortage = budget->Shortage(id, need.bytes);
    need.reserved = budget->InsideReserve(id, need.bytes);
    if (need.shortage > 0 || need.reserved || behind == nullptr) return need;
    // Common memory, and somebody waits: only for who has less of it than he, and not where it is reserved for him.
    const bool first = !behind->need.reserved && budget->Common(id) + need.bytes < budget->Common(behind->session);
    if (!first) need.shortage = need.bytes;
    return need;
  };
  while (!stop_) {
    RowScheduler::Choice choice = scheduler_.Pick(need_of);
    if (choice.picked.has_value()) {
      work->session = sessions_.at(choice.picked->session);
      work->held = grab_of(choice.picked->session, choice.picked->row);
      work->picked = *std::move(choice.picked);
      PS_CHECK(budget_.Take(work->session->id, work->held));
      times_.HasRow(thread);
      ++work->session->calls;
      ++work->session->making;
      work->ahead = scheduler_.Announce(work->session->id, static_cast<size_t>(std::max(0, options_.read_ahead_rows)));
      TrimListed(work->session.get());
      if (waiting_threads_ > 0 && !scheduler_.empty()) work_.NotifyOne();
      // Others may always find something that fits: whose memory is reserved does not wait for that to end.
      if (choice.blocked.has_value() && choice.blocked->need.reserved && may_revoke_ && !revoking_) {
        RevokeFor(*choice.blocked);
      }
      return true;
    }
    if (choice.blocked.has_value() && may_revoke_ && !revoking_) {
      RevokeFor(*choice.blocked);
      continue;
    }
    ++waiting_threads_;
    times_.HasNone(thread);
    work_.Wait(&mutex_);
    --waiting_threads_;
  }
  return false;
}

void LoaderCore::RevokeFor(const RowScheduler::Blocked& blocked) {
  revoking_ = true;
  may_revoke_ = false;
  const uint64_t shortage = blocked.need.shortage;
  uint64_t freed = 0;
  for (const MemoryBudget::Account lender : budget_.Lenders(blocked.session, blocked.need.bytes)) {
    const auto it = sessions_.find(lender);
    if (it == sessions_.end()) continue;
    std::shared_ptr<OpenedSession> session = it->second;
    ++session->calls;
    mutex_.Unlock();
    freed += session->sink->Revoke(shortage - freed, lender != blocked.session);
    mutex_.Lock();
    EndCall(std::move(session));
    if (freed >= shortage) break;
  }
  revoking_ = false;
  if (freed > 0) may_revoke_ = true;
}

absl::StatusOr<RowMaker::Answer> LoaderCore::Grow(Work* work, uint64_t bytes) {
  if (bytes <= work->held) return RowMaker::Answer::kYes;
  MutexLock lock(&mutex_);
  const uint64_t id = work->session->id;
  if (const uint64_t most = budget_.LargestTake(id); bytes > most) {
    return absl::ResourceExhaustedError(
        absl::StrCat("needs ", bytes, " bytes of memory, but this session can have ", most,
                     " at most: of the budget of ", options_.memory_budget_bytes, " bytes, ",
                     options_.record_cache_bytes + options_.decoded_cache_bytes, " are for caches, ",
                     static_cast<uint64_t>(sizes_.threads) * sizes_.thread_scratch_bytes, " for ", sizes_.threads,
                     " threads, and the rest is reserved for other sessions; raise memory_budget_bytes, or lower "
                     "the job's limits"));
  }
  work->session->estimate = std::max(work->session->estimate, bytes);
  if (!budget_.Take(id, bytes - work->held)) return RowMaker::Answer::kPutBack;
  work->held = bytes;
  return RowMaker::Answer::kYes;
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
        outcome.result.fixed = std::make_unique_for_overwrite<std::byte[]>(job.fixed_bytes());
        row.slot.emplace();
        PointInto(schema, outcome.result.fixed.get(), &*row.slot);
      }
    }
    return &*row.slot;
  };
  MadeRow* const made = &outcome.made;
  outcome.end = maker_.Make(job, session.id, row.request, book, get_slot, thread, &row.failed_reads, made);
  if (outcome.end == RowMaker::End::kMade && made->status.ok()) {
    // Usually far below what was booked; a cast may widen ragged numbers beyond it.
    for (const std::string& column : row.slot->ragged) outcome.kept += column.empty() ? 0 : column.capacity();
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
  if (made->status.ok()) result.ragged = std::move(row.slot->ragged);
  return outcome;
}

void LoaderCore::Process(Work* work, MakerThread* thread) {
  OpenedSession& session = *work->session;
  for (const RowRequest& row : work->ahead) maker_.Announce(*session.job, session.id, row, thread);
  const Nanos start = options_.clock->Now();
  Outcome outcome = MakeRow(work, thread);
  if (thread->scratch.held_bytes() + thread->record.capacity() > sizes_.thread_scratch_bytes) {
    thread->scratch.Clear();
    thread->record.Clear();
  }
  const Nanos took = options_.clock->Now() - start;
  std::shared_ptr<ParkedRow> parked;
  {
    MutexLock lock(&mutex_);
    --session.making;
    budget_.Release(session.id, work->held - outcome.kept);
    switch (outcome.end) {
      case RowMaker::End::kPutBack:
        work->picked.row.need = outcome.need;
        scheduler_.PutBack(std::move(work->picked));
        return;
      case RowMaker::End::kNotReady:
        scheduler_.Park(session.id);
        parked = std::make_shared<ParkedRow>(weak_from_this(), std::move(work->picked));
        session.parked.emplace(parked.get(), parked);
        break;
      case RowMaker::End::kMade:
        Count(outcome, took, &session);
        break;
    }
    if (waiting_threads_ > 0 && !scheduler_.empty()) work_.NotifyOne();
  }
  if (parked != nullptr) {
    session.job->reader().WhenReady(outcome.made.missing_record, std::move(parked));
    return;
  }
  outcome.result.bytes = std::make_unique<BudgetGrab>(shared_from_this(), session.id, outcome.kept);
  session.sink->OnRow(std::move(outcome.result));
}

void LoaderCore::Count(const Outcome& outcome, Nanos took, OpenedSession* session) {
  scheduler_.Done(session->id, static_cast<uint64_t>(std::max<Nanos>(took, 0)));
  // Follows the rows' needs: up at once, down slowly, so that few rows have to ask twice.
  if (outcome.need < session->estimate) session->estimate -= (session->estimate - outcome.need) / 64;
  if (outcome.made.status.ok()) ++stats_.rows;
  if (!outcome.made.fault.ok() || !outcome.made.status.ok()) ++stats_.failed_rows;
  stats_.bytes_read += outcome.made.bytes_read;
  stats_.read_seconds += static_cast<double>(outcome.made.read_time) / kSecond;
  stats_.compute_seconds += static_cast<double>(took - outcome.made.read_time) / kSecond;
}

void LoaderCore::Unpark(const ParkedRow& row, std::shared_ptr<const void> hold) {
  MutexLock lock(&mutex_);
  const auto session = sessions_.find(row.session());
  if (session == sessions_.end() || session->second->closing) return;
  const auto found = session->second->parked.find(&row);
  if (found == session->second->parked.end()) return;
  RowScheduler::Picked picked = std::move(found->second->picked_);
  picked.row.hold = std::move(hold);
  session->second->parked.erase(found);
  scheduler_.PutBackParked(std::move(picked));
  if (waiting_threads_ > 0) work_.NotifyOne();
}

}  // namespace penstock
