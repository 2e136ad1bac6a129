#include "pipeline/loader/loader_core.h"

#include <pthread.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace penstock {
namespace {

// Rows of a session that may wait without being charged for: a session can go on whatever others took.
constexpr size_t kFreeRows = 64;
// What a row that waits takes in the scheduler: its entry, the tree's node and the allocator's share.
constexpr uint64_t kListedRow = sizeof(ScheduledRow) + 80;

// What a row that is ready takes beside its content: the result, its place in a sink, its grab.
uint64_t OverheadOf(const LoadJob& job) {
  return sizeof(RowResult) + 160 + 40 * job.pipeline().schema().columns.size();
}

// A row's memory before any row of the session was made: FIXED columns, and a record of mean size.
uint64_t MeanRecordBytes(const LoadJob& job) {
  const Snapshot& snapshot = job.reader().snapshot();
  return snapshot.total_records() == 0 ? 0 : snapshot.data_bytes() / snapshot.total_records() + 1;
}

Nanos CpuTime(clockid_t clock) {
  timespec time;
  return clock_gettime(clock, &time) == 0 ? time.tv_sec * kSecond + time.tv_nsec : 0;
}

MakerOptions MakerOptionsOf(const LoaderOptions& options, const LoaderCore::Sizes& sizes, ByteCache* records,
                            ByteCache* decoded) {
  MakerOptions maker;
  maker.records = records;
  maker.decoded = decoded;
  maker.thread_scratch_bytes = sizes.thread_scratch_bytes;
  maker.max_row_bytes = options.max_row_bytes;
  maker.clock = options.clock;
  return maker;
}

}  // namespace

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

LoaderCore::LoaderCore(const LoaderOptions& options, const Sizes& sizes)
    : options_(options),
      sizes_(sizes),
      records_(options.record_cache_bytes),
      decoded_(options.decoded_cache_bytes),
      maker_(MakerOptionsOf(options, sizes, &records_, &decoded_)),
      budget_(sizes.rows_bytes),
      times_(static_cast<size_t>(sizes.threads)) {}

absl::StatusOr<uint64_t> LoaderCore::OpenSession(std::shared_ptr<const LoadJob> job,
                                                 const LoaderSessionOptions& options, RowSink* sink) {
  Sweep();
  const uint64_t mean = MeanRecordBytes(*job);
  const uint64_t ragged = RaggedBound(job->pipeline().schema(), mean);
  const uint64_t row = (options.books_slots ? 0 : job->fixed_bytes()) + ragged;
  const uint64_t overhead = options.counts_all ? OverheadOf(*job) : 0;
  const uint64_t making = job->fixed_bytes() + ragged + 2 * mean + overhead;
  MutexLock lock(&mutex_);
  const uint64_t id = next_session_++;
  PS_RETURN_IF_ERROR(budget_.Open(id, options.largest_step_rows * row + making));
  scheduler_.AddSession(id, options.weight);
  auto session = std::make_shared<OpenedSession>();
  session->id = id;
  session->job = job;
  session->options = options;
  session->sink = sink;
  session->overhead = overhead;
  session->estimate = making;
  sessions_.emplace(id, std::move(session));
  const bool known = std::any_of(cached_jobs_.begin(), cached_jobs_.end(),
                                 [&job](const CachedJob& entry) { return entry.job.lock() == job; });
  if (!known) cached_jobs_.push_back({job, job->record_space(), job->decoded_space()});
  return id;
}

void LoaderCore::CloseSession(uint64_t id, Task quiet) {
  MutexLock lock(&mutex_);
  std::shared_ptr<OpenedSession> session = sessions_.at(id);
  PS_CHECK(!session->closing);
  session->closing = true;
  session->quiet = std::move(quiet);
  scheduler_.RemoveSession(id);
  TrimListed(session.get());
  ++session->calls;
  EndCall(std::move(session));
}

size_t LoaderCore::Request(uint64_t id, const std::vector<RowRequest>& rows) {
  if (rows.empty()) return 0;
  MutexLock lock(&mutex_);
  OpenedSession& session = *sessions_.at(id);
  const size_t waiting = scheduler_.waiting(id);
  const size_t free = session.options.counts_all ? kFreeRows - std::min(kFreeRows, waiting) : rows.size();
  if (rows.size() <= free) {
    scheduler_.Add(id, rows);
  } else {
    const uint64_t charged = budget_.TakeCommon(id, kListedRow, rows.size() - free);
    session.listed += charged * kListedRow;
    const size_t taken = free + static_cast<size_t>(charged);
    scheduler_.Add(id, {rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(taken)});
    if (taken < rows.size()) {
      if (taken > 0 && waiting_threads_ > 0) work_.NotifyOne();
      return taken;
    }
  }
  if (waiting_threads_ > 0) work_.NotifyOne();  // who takes a row wakes the next
  return rows.size();
}

void LoaderCore::TrimListed(OpenedSession* session) {
  if (session->listed == 0) return;
  const size_t waiting = session->closing ? 0 : scheduler_.waiting(session->id) + session->parked.size();
  const uint64_t needed = waiting > kFreeRows ? (waiting - kFreeRows) * kListedRow : 0;
  if (needed >= session->listed) return;
  budget_.ReleaseCommon(session->id, session->listed - needed);
  session->listed = needed;
}

std::unique_ptr<BudgetGrab> LoaderCore::Hold(uint64_t id, uint64_t bytes) {
  MutexLock lock(&mutex_);
  if (bytes > 0 && budget_.TakeCommon(id, bytes, 1) == 0) return nullptr;
  return std::make_unique<BudgetGrab>(std::shared_ptr<BudgetGrab::Owner>(shared_from_this(), &lists_), id, bytes);
}

void LoaderCore::ReleaseList(uint64_t account, uint64_t bytes) {
  MutexLock lock(&mutex_);
  budget_.ReleaseCommon(account, bytes);
  if (waiting_threads_ > 0 && !scheduler_.empty()) work_.NotifyOne();
}

void LoaderCore::NowRevocable() {
  MutexLock lock(&mutex_);
  may_revoke_ = true;
  if (waiting_threads_ > 0) work_.NotifyOne();
}

void LoaderCore::SetHead(uint64_t id, uint64_t step) {
  MutexLock lock(&mutex_);
  scheduler_.SetHead(id, step);
  may_revoke_ = true;
  if (waiting_threads_ > 0) work_.NotifyOne();
}

size_t LoaderCore::Pending(uint64_t id) {
  MutexLock lock(&mutex_);
  const OpenedSession& session = *sessions_.at(id);
  return scheduler_.waiting(id) + static_cast<size_t>(session.making) + session.parked.size();
}

void LoaderCore::Release(uint64_t account, uint64_t bytes) {
  MutexLock lock(&mutex_);
  budget_.Release(account, bytes);
  if (waiting_threads_ > 0 && !scheduler_.empty()) work_.NotifyOne();
}

void LoaderCore::Stop() {
  MutexLock lock(&mutex_);
  PS_CHECK(sessions_.empty());
  stop_ = true;
  work_.NotifyAll();
}

void LoaderCore::RunThread(int thread) {
  MakerThread maker_thread;
  Work work;
  {
    MutexLock lock(&mutex_);
    ThreadTime& time = times_[static_cast<size_t>(thread)];
    time.runs = pthread_getcpuclockid(pthread_self(), &time.clock) == 0;
  }
  while (NextWork(&work, thread)) {
    Process(&work, &maker_thread);
  }
  MutexLock lock(&mutex_);
  BeIdle(thread);
  ThreadTime& time = times_[static_cast<size_t>(thread)];
  if (time.runs) time.cpu = CpuTime(time.clock);
  time.runs = false;
}

void LoaderCore::EndCall(std::shared_ptr<OpenedSession> session) {
  if (--session->calls > 0 || !session->closing) return;
  sessions_.erase(session->id);
  budget_.Close(session->id);
  work_.NotifyAll();  // its reserve is free
  mutex_.Unlock();
  Task quiet = std::move(session->quiet);
  session.reset();  // perhaps the job's last user
  Sweep();
  std::move(quiet)();
  mutex_.Lock();
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
      BeBusy(thread);
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
    BeIdle(thread);
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
  if (outcome.made.bad || !outcome.made.status.ok()) ++stats_.failed_rows;
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

void LoaderCore::BeBusy(int thread) {
  ThreadTime& time = times_[static_cast<size_t>(thread)];
  if (time.busy_since >= 0) return;
  time.busy_since = options_.clock->Now();
  if (busy_threads_++ == 0) owing_since_ = time.busy_since;
}

void LoaderCore::BeIdle(int thread) {
  ThreadTime& time = times_[static_cast<size_t>(thread)];
  if (time.busy_since < 0) return;
  const Nanos now = options_.clock->Now();
  busy_ += now - time.busy_since;
  time.busy_since = -1;
  if (--busy_threads_ == 0) owing_ += now - owing_since_;
}

void LoaderCore::AddTimes(LoaderStats* stats) const {
  const Nanos now = options_.clock->Now();
  Nanos cpu = 0, busy = busy_;
  for (const ThreadTime& time : times_) {
    cpu += time.runs ? CpuTime(time.clock) : time.cpu;
    if (time.busy_since >= 0) busy += now - time.busy_since;
  }
  const Nanos owing = owing_ + (busy_threads_ > 0 ? now - owing_since_ : 0);
  stats->cpu_seconds = static_cast<double>(cpu) / kSecond;
  stats->busy_seconds = static_cast<double>(busy) / kSecond / static_cast<double>(times_.size());
  stats->owing_seconds = static_cast<double>(owing) / kSecond;
}

void LoaderCore::Sweep() {
  std::set<uint64_t> gone, live;
  {
    MutexLock lock(&mutex_);
    for (auto it = cached_jobs_.begin(); it != cached_jobs_.end();) {
      std::set<uint64_t>& spaces = it->job.expired() ? gone : live;
      spaces.insert({it->record_space, it->decoded_space});
      it = it->job.expired() ? cached_jobs_.erase(it) : it + 1;
    }
  }
  for (const uint64_t space : gone) {
    if (live.count(space) > 0) continue;
    records_.DropSpace(space);
    decoded_.DropSpace(space);
  }
}

LoaderStats LoaderCore::Stats() {
  Sweep();
  LoaderStats stats;
  uint64_t peak;
  {
    MutexLock lock(&mutex_);
    stats = stats_;
    AddTimes(&stats);
    stats.memory_bytes = budget_.used();
    peak = budget_.peak();
  }
  stats.record_cache_bytes = records_.bytes();
  stats.record_cache_hits = records_.hits();
  stats.record_cache_misses = records_.misses();
  stats.decoded_cache_bytes = decoded_.bytes();
  stats.decoded_cache_hits = decoded_.hits();
  stats.decoded_cache_misses = decoded_.misses();
  const uint64_t beside = stats.record_cache_bytes + stats.decoded_cache_bytes +
                          static_cast<uint64_t>(sizes_.threads) * sizes_.thread_scratch_bytes;
  stats.memory_bytes += beside;
  stats.memory_peak_bytes = peak + beside;
  return stats;
}

}  // namespace penstock
