#include "pipeline/loader/loader_core.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "pipeline/loader/row_slots.h"
#include "pipeline/storage/files.h"

namespace penstock::loader {
namespace {

// Rows per session that may wait without a charge. A session can therefore continue even if other sessions use all
// memory.
constexpr size_t kFreeRows = 64;
// Bytes of a waiting row in the scheduler: its task, the node of the tree, and the allocator's overhead.
constexpr uint64_t kListedRow = sizeof(RowTask) + 112;

// Returns the bytes of a finished row in addition to its content: the result, its entry in a sink, its lease.
uint64_t OverheadOf(const LoadJob& job) { return sizeof(RowResult) + 160 + 40 * job.schema().columns.size(); }

// Returns the mean size of the job's records, rounded up. Estimates use it until a row was made.
uint64_t MeanRecordBytes(const LoadJob& job) {
  const sources::Snapshot& snapshot = job.reader().snapshot();
  return snapshot.total_records() == 0 ? 0 : snapshot.data_bytes() / snapshot.total_records() + 1;
}

MakerOptions MakerOptionsOf(const LoaderOptions& options, const LoaderCore::Sizes& sizes, LoaderCaches* caches,
                            RecordRanges* ranges, SmallRecords* small) {
  MakerOptions maker;
  maker.ranges = ranges;
  maker.small = small;
  maker.records = caches->records();
  maker.decoded = caches->decoded();
  maker.disk = caches->disk();
  maker.rows = caches->rows();
  maker.thread_scratch_bytes = sizes.maker_scratch_bytes;
  maker.max_row_bytes = options.max_row_bytes;
  maker.clock = options.clock;
  return maker;
}

ReadAhead::Limits LimitsOf(const LoaderOptions& options) {
  ReadAhead::Limits limits;
  limits.hinted_rows = options.read_ahead_rows;
  limits.reads = std::max(1, options.reads_under_way);
  limits.ranges = options.ranges_under_way;
  limits.range.most_bytes = options.range_bytes;
  return limits;
}

LoaderCaches::Options CachesOptionsOf(const LoaderOptions& options, uint64_t bytes) {
  LoaderCaches::Options caches;
  caches.bytes = bytes;
  caches.limits.first = {options.record_cache_bytes, options.decoded_cache_bytes, options.row_cache_bytes};
  caches.limits.records_pinned = !options.choose_record_cache;
  caches.limits.decoded_pinned = !options.choose_decoded_cache;
  caches.limits.rows_pinned = !options.choose_row_cache;
  caches.shared_row_files = options.shared_row_files;
  caches.disk = options.disk_cache;
  caches.clock = options.clock;
  return caches;
}

LoaderOptions WithoutDiskCache(LoaderOptions options) {
  options.disk_cache.reset();
  return options;
}

}  // namespace

LoaderCore::LoaderCore(const LoaderOptions& options, const Sizes& sizes, Executor* executor)
    : options_(WithoutDiskCache(options)),
      limits_(LimitsOf(options)),
      sizes_(sizes),
      executor_(executor),
      all_bytes_(sizes.rows_bytes + options.record_cache_bytes + options.decoded_cache_bytes + options.row_cache_bytes),
      caches_(CachesOptionsOf(options, all_bytes_), &caches_rows_),
      ranges_(limits_.ranges > 0 ? std::make_shared<RecordRanges>(RangesOptions()) : nullptr),
      small_(options.small_records_bytes == 0
                 ? nullptr
                 : std::make_unique<SmallRecords>(
                       options.small_records_bytes,
                       // The maker that reads counts the request.
                       [this](uint64_t id, uint64_t bytes) { return ReserveRange(id, bytes, 0); })),
      maker_(MakerOptionsOf(options, sizes, &caches_, ranges_.get(), small_.get())),
      budget_(sizes.rows_bytes),
      times_(static_cast<size_t>(sizes.makers), options.clock),
      makers_(static_cast<size_t>(sizes.makers)),
      states_(sizes.makers),
      slots_(limits_.reads),
      activity_(sizes.makers, options.clock) {
  for (int i = 0; i < sizes.makers; ++i) {
    Maker& maker = makers_[static_cast<size_t>(i)];
    maker.number = i;
    maker.context.reading_since = activity_.reading_since(i);
    activity_.Idles();
  }
}

void LoaderCore::Start() {
  if (caches_.disk() == nullptr) return;
  caches_.disk()->GrowIndexWith(std::shared_ptr<cache::DiskIndexMemory>(shared_from_this(), &index_memory_));
}

absl::StatusOr<uint64_t> LoaderCore::OpenSession(std::shared_ptr<const LoadJob> job,
                                                 const LoaderSessionOptions& options, RowSink* sink) {
  caches_.Sweep();
  const uint64_t mean = MeanRecordBytes(*job);
  const uint64_t ragged = RaggedBound(job->schema(), mean);
  const uint64_t row = (options.books_slots ? 0 : job->fixed_bytes()) + ragged;
  const uint64_t overhead = options.counts_all ? OverheadOf(*job) : 0;
  const uint64_t making = job->fixed_bytes() + ragged + 2 * mean + overhead;
  const uint64_t reserve = options.largest_step_rows * row + making;
  uint64_t lacks;
  {
    MutexLock lock(&mutex_);
    lacks = budget_.LacksFor(reserve);
  }
  if (lacks > 0) caches_.Release(lacks, LoaderCaches::For::kRows);
  uint64_t id;
  {
    MutexLock lock(&mutex_);
    id = next_session_++;
    const std::shared_ptr<JobActivity> activity = activity_.Of(job);
    activity->memory().limit = options.caps.memory_bytes;
    PS_RETURN_IF_ERROR(budget_.Open(id, reserve, options.caps.memory_bytes > 0 ? &activity->memory() : nullptr));
    scheduler_.AddSession(id, options.weight);
    activity->throttle().SetCaps(options.caps);
    activity->throttle().SetPaused(job->paused());
    auto session = std::make_shared<OpenedSession>();
    session->id = id;
    session->job = job;
    session->options = options;
    session->sink = sink;
    session->ahead = std::make_unique<ReadAhead>(job, limits_.range);
    session->expected = std::make_shared<const ExpectedRows>(options.expected);
    session->overhead = overhead;
    session->estimate = making;
    LookAtIdle(true);
    session->activity = activity;
    session->activity->OpensReader(options.end_epoch);
    // Also if files are local: they may become remote.
    if (ranges_ != nullptr) ranges_->OpenSession(id, job, session->stop_reads.get_token());
    if (small_ != nullptr) small_->OpenSession(id);
    CountShares(session.get(), 1);
    sessions_.emplace(id, std::move(session));
    CountLimited();
  }
  // After the reserve: the index of the disk cache grows into memory that no session needs.
  caches_.AddJob(job);
  return id;
}

void LoaderCore::CountShares(OpenedSession* session, int change) {
  const LoaderSessionOptions& own = session->options;
  for (const auto& [id, other] : sessions_) {
    const LoaderSessionOptions& others = other->options;
    if (other.get() == session || other->closing || other->job->shared_space() != session->job->shared_space())
      continue;
    // Slices of a step: [rank / world size, (rank + 1) / world size).
    const bool overlap = own.rank * others.world_size < (others.rank + 1) * own.world_size &&
                         others.rank * own.world_size < (own.rank + 1) * others.world_size;
    if (!overlap) continue;
    session->shares += change;
    other->shares += change;
  }
}

void LoaderCore::CloseSession(uint64_t id, Task quiet) {
  std::stop_source stop_reads;
  {
    MutexLock lock(&mutex_);
    stop_reads = sessions_.at(id)->stop_reads;
  }
  stop_reads.request_stop();  // may end some reads inside the call
  if (ranges_ != nullptr) ranges_->CloseSession(id);
  if (small_ != nullptr) small_->CloseSession(id);
  std::vector<std::unique_ptr<RowTask>> dropped;  // destroyed after the lock is released
  std::optional<Closed> closed;
  {
    MutexLock lock(&mutex_);
    closed = RemoveRows(id, std::move(quiet), &dropped);
  }
  Finish(std::move(closed));
}

std::optional<LoaderCore::Closed> LoaderCore::RemoveRows(uint64_t id, Task quiet,
                                                         std::vector<std::unique_ptr<RowTask>>* dropped) {
  std::shared_ptr<OpenedSession> session = sessions_.at(id);
  PS_CHECK(!session->closing);
  LookAtIdle(true);
  session->closing = true;
  CountShares(session.get(), -1);
  session->activity->ClosesReader(session->options.end_epoch);
  session->quiet = std::move(quiet);
  *dropped = scheduler_.RemoveSession(id);
  CountLimited();
  session->activity->throttle().EndLook(options_.clock->Now());  // rows of other sessions count from the next look on
  for (const auto& row : *dropped) holders_ -= row->held_bytes() > 0 ? 1 : 0;
  TrimListed(session.get());
  ++session->calls;
  return EndCall(std::move(session));
}

size_t LoaderCore::Request(uint64_t id, const std::vector<RowRequest>& rows) {
  if (rows.empty()) return 0;
  MutexLock lock(&mutex_);
  LookAtIdle();
  OpenedSession& session = *sessions_.at(id);
  if (session.closing) return rows.size();  // a sink revokes while its session closes: drop the rows like the others
  const size_t waiting = scheduler_.waiting(id);
  const size_t free = session.options.counts_all ? kFreeRows - std::min(kFreeRows, waiting) : rows.size();
  size_t taken = rows.size();
  if (rows.size() > free) {
    const uint64_t charged = budget_.TakeCommon(id, kListedRow, rows.size() - free);
    session.listed += charged * kListedRow;
    taken = free + static_cast<size_t>(charged);
  }
  session.requested.Add(std::span(rows).first(taken));
  scheduler_.Add(id, rows, taken);
  if (taken > 0) WakeOne();  // a maker that takes a row wakes the next one
  return taken;
}

void LoaderCore::TrimListed(OpenedSession* session) {
  if (session->listed == 0) return;
  const size_t waiting = session->closing ? 0 : scheduler_.waiting(session->id) + session->parked.size();
  const uint64_t needed = waiting > kFreeRows ? (waiting - kFreeRows) * kListedRow : 0;
  if (needed >= session->listed) return;
  budget_.ReleaseCommon(session->id, session->listed - needed);
  session->listed = needed;
}

void LoaderCore::Expect(uint64_t id, ExpectedRows rows) {
  auto expected = std::make_shared<const ExpectedRows>(std::move(rows));
  MutexLock lock(&mutex_);
  sessions_.at(id)->expected.swap(expected);
}

RecordRanges::Options LoaderCore::RangesOptions() {
  RecordRanges::Options ranges;
  ranges.most_under_way = limits_.ranges;
  ranges.clock = options_.clock;
  ranges.reserve = [this](uint64_t id, uint64_t bytes) { return ReserveRange(id, bytes, 1); };
  ranges.cached = [this](const LoadJob& job, uint64_t record) {
    return maker_.PlaceOf(job, record) != RecordPlace::kStorage;
  };
  ranges.wanted = [this] { return WaitsForMemory(); };
  // The range holds memory, whose lease keeps this object alive.
  ranges.ended = [this] { NowRevocable(); };
  return ranges;
}

bool LoaderCore::WaitsForMemory() {
  MutexLock lock(&mutex_);
  return !states_.idle().empty() && !scheduler_.empty();
}

void LoaderCore::NowRevocable() {
  MutexLock lock(&mutex_);
  may_revoke_ = true;
  WakeForRows();
}

void LoaderCore::SetHead(uint64_t id, uint64_t step) {
  MutexLock lock(&mutex_);
  scheduler_.SetHead(id, step);
  may_revoke_ = true;
  WakeForRows();
}

size_t LoaderCore::Pending(uint64_t id) {
  MutexLock lock(&mutex_);
  const OpenedSession& session = *sessions_.at(id);
  return scheduler_.waiting(id) + static_cast<size_t>(session.making) + session.parked.size();
}

void LoaderCore::Stop() {
  MutexLock lock(&mutex_);
  PS_CHECK(sessions_.empty());
  stop_ = true;
  while (states_.running() > 0) all_ended_.Wait(&mutex_);
}

void LoaderCore::Set(const LoaderSetting& setting) {
  MutexLock lock(&mutex_);
  slots_.SetMost(std::max(1, setting.reads_under_way));
  const int makers = std::clamp(setting.threads, 1, sizes_.makers);
  if (makers != states_.wanted()) {
    LookAtIdle(true);
    const MakerStates::Changed changed = states_.SetWanted(makers);
    times_.Count(makers);
    for (const int maker : changed.stopped) {
      times_.HasNone(maker);
      activity_.Resumes();
    }
    for (const int maker : changed.started) Post(maker);
  }
  for (int room = slots_.room(); room > 0 && ReadNext(); --room) {
  }
}

std::optional<LoaderCore::Closed> LoaderCore::EndCall(std::shared_ptr<OpenedSession> session) {
  if (--session->calls > 0 || !session->closing) return std::nullopt;
  sessions_.erase(session->id);
  budget_.Close(session->id);
  if (sessions_.empty()) caches_.NoSessions();
  if (!scheduler_.empty()) WakeAll();  // its reserve is available
  return Closed{std::move(session)};
}

void LoaderCore::Finish(std::optional<Closed> closed) {
  if (!closed.has_value()) return;
  Task quiet = std::move(closed->session->quiet);
  closed.reset();  // may be the last user of the job
  caches_.Sweep();
  std::move(quiet)();
}

void LoaderCore::LookAtIdle(bool always) {
  using Idle = JobActivity::Idle;
  // Called while the lock is held.
  const auto why = [this](const JobActivity& job) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    // Rows that wait until another session's maker has made them do not wait for storage.
    size_t parked = 0, for_others = 0;
    for (const auto& [id, session] : sessions_) parked += session->parked.size();
    for (const auto& [key, rows] : being_made_) for_others += rows.size();
    Idle reason = Idle::kUnasked;
    for (const auto& [id, session] : sessions_) {
      if (session->activity.get() != &job || session->closing) continue;
      if (scheduler_.waiting(id) > 0 && scheduler_.held(id)) return Idle::kCapped;
      if (scheduler_.waiting(id) > 0) return short_of_memory_ ? Idle::kMemory : Idle::kStarting;
      if (!session->parked.empty()) reason = parked > for_others ? Idle::kStorage : Idle::kStarting;
    }
    return reason;
  };
  activity_.AddIdle(always, why);
}

std::vector<JobTimes> LoaderCore::Jobs() {
  MutexLock lock(&mutex_);
  LookAtIdle(true);
  return activity_.Times();
}

LoaderStats LoaderCore::Stats() {
  caches_.Sweep();
  LoaderStats stats;
  RowCosts::Saved saved;
  const uint64_t cached = caches_.bytes();
  uint64_t peak;
  {
    MutexLock lock(&mutex_);
    stats = stats_;
    saved = saved_;
    times_.AddTo(&stats);
    stats.memory_bytes = stats.rows_bytes = budget_.used();
    stats.running_threads = static_cast<uint64_t>(states_.running());
    stats.waiting_rows = scheduler_.waiting();
    for (const auto& [id, session] : sessions_) {
      stats.parked_rows += session->parked.size();
      stats.making_rows += static_cast<uint64_t>(session->making);
    }
    stats.reads_in_flight = static_cast<uint64_t>(std::max(slots_.reads(), 0));
    peak = budget_.PeakWith(cached);
  }
  stats.remote_hedges = storage::CountsOfObjects().hedges;
  if (ranges_ != nullptr) {
    const RecordRanges::Counts ranges = ranges_->counts();
    stats.remote_requests += ranges.ranges;
    stats.remote_bytes += ranges.bytes;
    stats.ranges = ranges.ranges;
    stats.range_bytes = ranges.bytes;
  }
  caches_.AddTo(saved, &stats);
  const uint64_t caches = stats.record_cache.bytes + stats.decoded_cache.bytes + stats.row_cache.bytes;
  const uint64_t scratch = static_cast<uint64_t>(sizes_.makers) * sizes_.maker_scratch_bytes;
  stats.memory_bytes += caches + scratch;
  stats.scratch_bytes = scratch;
  stats.memory_peak_bytes = peak + scratch;
  return stats;
}

}  // namespace penstock::loader
