#include "pipeline/loader/shard_table.h"

#include <algorithm>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/open_files.h"
#include "base/status_macros.h"
#include "pipeline/plan/value_bins.h"

namespace penstock::loader {
namespace {

// Attempts of a load that fails with Unavailable. The pause between them doubles. A failed read pauses the shard for
// kFirstPause.
constexpr int kOpenTries = 3;
constexpr Nanos kFirstPause = 20 * kMillisecond;
// After the attempts, the failure stands for a while, which grows.
constexpr Nanos kFirstFailure = 250 * kMillisecond;
constexpr Nanos kLongestFailure = 2 * kSecond;
// Longer loads are reported.
constexpr Nanos kLongLoad = kSecond;
// Indexings after a first one, before a load fails. A file that is being written outdates each index.
constexpr int kIndexings = 2;
// Number of waiters at which the table removes destroyed ones.
constexpr size_t kManyWaiters = 64;

// Four windows of 1024 chunks, as the default order has them.
constexpr size_t kMostOpenShards = 4096, kLeastOpenShards = 256;

DatasetReader::Options Completed(DatasetReader::Options options) {
  if (options.max_open_shards == 0) {
    options.max_open_shards = std::clamp(OpenFileLimit() / 8, kLeastOpenShards, kMostOpenShards);
  }
  return options;
}

constexpr char kGoesOn[] = "other workers serve its rows, and this worker tries it again";

bool MayPass(const absl::Status& status) { return absl::IsUnavailable(status); }

}  // namespace

// A load to run. If the executor stops and drops it, it ends the load with Cancelled for all waiters.
class ShardTable::LoadTurn {
 public:
  LoadTurn(std::shared_ptr<ShardTable> table, uint32_t number) : table_(std::move(table)), number_(number) {}
  LoadTurn(LoadTurn&&) = default;
  ~LoadTurn() {
    if (table_ == nullptr) return;
    Nanos again = 0;
    table_->FinishLoad(number_, absl::CancelledError("this process is stopping"), true, &again);
  }
  std::optional<absl::StatusOr<Loaded>> Run() { return std::exchange(table_, nullptr)->RunLoad(number_); }

 private:
  std::shared_ptr<ShardTable> table_;
  uint32_t number_;
};

ShardTable::ShardTable(storage::Storage* storage, sources::Snapshot snapshot, std::vector<sources::DataRoot> roots,
                       IndexProvider indexes, const DatasetReader::Options& options)
    : snapshot_(std::move(snapshot)),
      roots_(std::move(roots)),
      indexes_(std::move(indexes)),
      options_(Completed(options)),
      storage_(storage),
      one_of_each_root_(OneOfEachRoot()),
      roots_of_files_(roots_.size()),
      files_(sources::AccessTo(storage, roots_)),
      executor_(options.executor != nullptr ? options.executor : SlowWorkThreads()),
      clock_(executor_->clock()),
      shards_(snapshot_.shards().size()) {
  for (size_t i = 0; i < roots_.size(); ++i) roots_of_files_[i].path = absl::StrCat(roots_[i].path, "/file");
}

std::vector<std::string> ShardTable::OneOfEachRoot() const {
  std::set<std::string_view> seen;
  std::vector<std::string> paths;
  for (uint32_t i = 0; i < snapshot_.shards().size(); ++i) {
    if (seen.insert(snapshot_.shards()[i].root).second) paths.push_back(PathOf(i));
  }
  return paths;
}

bool ShardTable::AllAnswerAtOnce() const {
  for (const std::string& path : one_of_each_root_) {
    if (!storage_->HasLowLatency(path)) return false;
  }
  return std::all_of(roots_of_files_.begin(), roots_of_files_.end(), [this](const RootOfFiles& root) {
    return !root.used.load(std::memory_order_relaxed) || storage_->HasLowLatency(root.path);
  });
}

void ShardTable::NoteRootsOf(const sources::ShardIndex& index) {
  const sources::FileTable& files = index.SingleRecords().files();
  for (uint64_t k = 0; k < files.records(); ++k) {
    const std::string_view root = sources::RootOfIndexed(files.Path(k));
    for (size_t i = 0; i < roots_.size() && !root.empty(); ++i) {
      if (roots_[i].name == root) roots_of_files_[i].used.store(true, std::memory_order_relaxed);
    }
  }
}

std::string ShardTable::PathOf(uint32_t number) const {
  const sources::SnapshotShard& shard = snapshot_.shards()[number];
  for (const sources::DataRoot& root : roots_) {
    if (root.name == shard.root) return absl::StrCat(root.path == "/" ? "" : root.path, "/", shard.relative_path);
  }
  return absl::StrCat(shard.root, ":", shard.relative_path);
}

absl::Status ShardTable::Changed(uint32_t number, absl::string_view why) const {
  return sources::ChangedFile(PathOf(number), why);
}

absl::Status ShardTable::Unreadable(uint32_t number, const absl::Status& status) const {
  if (absl::IsFailedPrecondition(status)) return Changed(number, status.message());
  return absl::IsCancelled(status) ? status : absl::UnavailableError(status.message());
}

// ---- Requests -------------------------------------------------------------------------------------------------------

bool ShardTable::ReadyNow(Shard* shard) {
  const bool at_once = AllAnswerAtOnce();
  if (shard->paused_until != 0 || !shard->failure.ok()) {
    const Nanos now = clock_->Now();
    if (now < shard->paused_until) return false;
    if (!shard->failure.ok() && now < shard->failed_until) return true;
  }
  if (shard->index == nullptr) {
    shard->index = shard->gone.lock();
    if (shard->index == nullptr) return false;
    index_bytes_.fetch_add(shard->index->MemoryBytes());
  }
  return at_once || shard->reader != nullptr;
}

bool ShardTable::IsReady(uint32_t number) {
  Shard& shard = shards_[number];
  MutexLock lock(&shard.mutex);
  if (!ReadyNow(&shard)) return false;
  shard.Prefetch();
  return true;
}

void ShardTable::WhenReady(uint32_t number, std::shared_ptr<ReadyWaiter> waiter) {
  Shard& shard = shards_[number];
  bool load = false;
  Nanos when = 0, takes = 0;
  std::shared_ptr<const sources::ShardIndex> index;
  {
    MutexLock lock(&shard.mutex);
    if (!ReadyNow(&shard)) {
      auto& waiters = shard.waiters;
      if (waiters.size() >= kManyWaiters && waiters.size() == waiters.capacity()) {
        std::erase_if(waiters, [](const std::weak_ptr<ReadyWaiter>& weak) { return weak.expired(); });
        waiters.reserve(2 * waiters.size() + kManyWaiters);
      }
      waiters.push_back(waiter);
      waiter = nullptr;
      load = !std::exchange(shard.loading, true);
      when = shard.paused_until;
      const Nanos now = clock_->Now();
      if (load) shard.reported_at = now;
      takes = now - shard.reported_at;
      if (takes > kLongLoad) shard.reported_at = now;
    } else {
      index = shard.index;
    }
  }
  if (waiter != nullptr) waiter->OnReady(std::move(index));
  if (takes > kLongLoad && options_.file_errors != nullptr) {
    shard.reported_failing.store(true);
    options_.file_errors->Silent(PathOf(number), "the worker is still opening it or loading its index", takes, kGoesOn);
  }
  if (load) PostLoad(number, when);
}

void ShardTable::StartLoad(uint32_t number) {
  Shard& shard = shards_[number];
  Nanos when = 0;
  {
    MutexLock lock(&shard.mutex);
    if (ReadyNow(&shard) || std::exchange(shard.loading, true)) return;
    shard.reported_at = clock_->Now();
    when = shard.paused_until;
  }
  PostLoad(number, when);
}

std::optional<absl::StatusOr<ShardTable::Loaded>> ShardTable::MakeReady(uint32_t number) {
  Shard& shard = shards_[number];
  for (;;) {
    {
      MutexLock lock(&shard.mutex);
      shard.paused_until = 0;
      if (ReadyNow(&shard)) return std::nullopt;
      if (shard.loading) {
        shard.loaded.Wait(&shard.mutex);
        continue;
      }
      shard.loading = true;
      shard.reported_at = clock_->Now();
    }
    std::optional<absl::StatusOr<Loaded>> loaded = LoadTurn(shared_from_this(), number).Run();
    if (loaded.has_value()) return loaded;
  }
}

absl::StatusOr<std::shared_ptr<const sources::ShardIndex>> ShardTable::Index(uint32_t number) {
  Shard& shard = shards_[number];
  shard.used.store(true, std::memory_order_relaxed);
  for (;;) {
    {
      MutexLock lock(&shard.mutex);
      if (ReadyNow(&shard)) {
        if (!shard.failure.ok()) return shard.failure;
        return shard.index;
      }
    }
    std::optional<absl::StatusOr<Loaded>> loaded = MakeReady(number);
    if (!loaded.has_value()) continue;
    if (!loaded->ok()) return loaded->status();
    return (*loaded)->index;
  }
}

absl::StatusOr<std::shared_ptr<const sources::ShardReader>> ShardTable::Reader(uint32_t number) {
  Shard& shard = shards_[number];
  shard.used.store(true, std::memory_order_relaxed);
  std::shared_ptr<const sources::ShardIndex> index;
  for (;;) {
    {
      MutexLock lock(&shard.mutex);
      if (ReadyNow(&shard)) {
        if (!shard.failure.ok()) return shard.failure;
        if (shard.reader != nullptr) return shard.reader;
        index = shard.index;
        break;
      }
    }
    std::optional<absl::StatusOr<Loaded>> loaded = MakeReady(number);
    if (!loaded.has_value()) continue;
    if (!loaded->ok()) return loaded->status();
    return (*loaded)->reader;
  }
  // Storage with low latency whose file was closed to make room.
  const absl::StatusOr<std::string> path = Resolve(number);
  absl::StatusOr<std::shared_ptr<const sources::ShardReader>> reader =
      path.ok() ? OpenFileOf(*path, index) : absl::StatusOr<std::shared_ptr<const sources::ShardReader>>(path.status());
  if (absl::IsFailedPrecondition(reader.status())) {
    MutexLock lock(&shard.mutex);
    if (shard.index == index) DropIndex(&shard);
    return absl::AbortedError(absl::StrCat(PathOf(number), " changed and is looked at again"));
  }
  if (!reader.ok()) {
    const absl::Status status = Unreadable(number, reader.status());
    {
      MutexLock lock(&shard.mutex);
      if (shard.reader == nullptr && !shard.loading) shard.paused_until = clock_->Now() + kFirstPause;
    }
    ReportError(number, status);
    return status;
  }
  {
    MutexLock lock(&shard.mutex);
    if (shard.reader == nullptr) SetReader(&shard, *reader);
  }
  Trim();
  return reader;
}

std::shared_ptr<const sources::ShardReader> ShardTable::OpenReader(uint32_t number) {
  Shard& shard = shards_[number];
  MutexLock lock(&shard.mutex);
  shard.Prefetch();
  return shard.reader;
}

std::shared_ptr<const sources::ShardIndex> ShardTable::KnownIndex(uint32_t number) {
  Shard& shard = shards_[number];
  MutexLock lock(&shard.mutex);
  return shard.index;
}

// ---- Results of reads -----------------------------------------------------------------------------------------------

void ShardTable::FoundChanged(uint32_t number, const sources::ShardReader& reader) {
  Shard& shard = shards_[number];
  MutexLock lock(&shard.mutex);
  if (shard.reader.get() == &reader) SetReader(&shard, nullptr);
  if (shard.index.get() == &reader.index()) DropIndex(&shard);
}

void ShardTable::FoundFailing(uint32_t number, const sources::ShardReader& reader, const absl::Status& status) {
  Shard& shard = shards_[number];
  {
    MutexLock lock(&shard.mutex);
    if (shard.reader.get() == &reader) {
      SetReader(&shard, nullptr);
      shard.paused_until = clock_->Now() + kFirstPause;
    }
  }
  ReportError(number, status);
}

void ShardTable::FoundWell(uint32_t number) {
  Shard& shard = shards_[number];
  if (!shard.reported_failing.load(std::memory_order_relaxed) || !shard.reported_failing.exchange(false)) return;
  if (options_.file_errors != nullptr) options_.file_errors->Recovered(PathOf(number));
}

void ShardTable::ReportError(uint32_t number, const absl::Status& status) {
  if (options_.file_errors == nullptr || absl::IsCancelled(status)) return;
  shards_[number].reported_failing.store(true);
  options_.file_errors->Failed(
      PathOf(number), status,
      absl::IsFailedPrecondition(status) ? "other workers serve its rows; put the right file there" : kGoesOn);
}

// ---- Loading --------------------------------------------------------------------------------------------------------

void ShardTable::PostLoad(uint32_t number, Nanos when) {
  auto run = [turn = LoadTurn(shared_from_this(), number)]() mutable { turn.Run(); };
  if (when > clock_->Now()) {
    executor_->PostAt(when, std::move(run));
  } else {
    executor_->Post(std::move(run));
  }
}

std::optional<absl::StatusOr<ShardTable::Loaded>> ShardTable::RunLoad(uint32_t number) {
  std::shared_ptr<const sources::ShardIndex> index;
  {
    MutexLock lock(&shards_[number].mutex);
    shards_[number].paused_until = 0;
    index = shards_[number].index;
  }
  absl::StatusOr<Loaded> loaded = absl::CancelledError("no row needs it");
  if (!stop_.stop_requested()) loaded = Load(number, std::move(index));
  Nanos again = 0;
  if (FinishLoad(number, loaded, false, &again)) return loaded;
  PostLoad(number, again);
  return std::nullopt;
}

absl::StatusOr<std::string> ShardTable::Resolve(uint32_t number) const {
  const sources::SnapshotShard& frozen = snapshot_.shards()[number];
  return sources::ResolveInRoots(storage_, frozen.root, frozen.relative_path, roots_);
}

absl::StatusOr<std::shared_ptr<const sources::ShardReader>> ShardTable::OpenFileOf(
    const std::string& path, const std::shared_ptr<const sources::ShardIndex>& index) const {
  PS_ASSIGN_OR_RETURN(std::unique_ptr<storage::StoredFile> file,
                      storage_->OpenAndWait(path, {.priority = storage::CallPriority::kUrgent,
                                                   .stop = stop_.get_token(),
                                                   .file_errors = options_.file_errors}));
  PS_ASSIGN_OR_RETURN(std::unique_ptr<sources::ShardReader> reader,
                      sources::ShardReader::Open(std::move(file), index, {.files = files_}));
  return std::shared_ptr<const sources::ShardReader>(std::move(reader));
}

absl::StatusOr<std::shared_ptr<const sources::ShardIndex>> ShardTable::FetchIndex(uint32_t number,
                                                                                  const std::string& path) {
  const sources::SnapshotShard& frozen = snapshot_.shards()[number];
  absl::StatusOr<std::shared_ptr<const sources::ShardIndex>> index = indexes_(frozen, path, stop_.get_token());
  if (!index.ok()) {
    // The shard was intact when the job was submitted.
    if (absl::IsDataLoss(index.status())) return Changed(number, index.status().message());
    if (absl::IsFailedPrecondition(index.status())) return index.status();  // names the file and the remedy
    return Unreadable(number, index.status());
  }
  if ((*index)->record_count() != frozen.indexed_records() || (*index)->content_hash != frozen.content_hash) {
    return Changed(number, absl::StrCat("it holds ", (*index)->record_count(), " records with content hash ",
                                        absl::Hex((*index)->content_hash), ", not ", frozen.indexed_records(), " with ",
                                        absl::Hex(frozen.content_hash)));
  }
  if (!plan::AreSumsOf(frozen.groups.records, (*index)->group_records())) {
    return Changed(number, "its index has other groups of records");
  }
  // The budget of memory limits packed rows.
  if (const uint32_t longest = (*index)->SingleRecords().longest_record(); longest > options_.max_record_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(PathOf(number), ": its longest record has ", longest,
                                                     " bytes, more than the limit of ", options_.max_record_bytes,
                                                     ": raise the job's limits.max_record_bytes"));
  }
  return sources::SlicedIndex(frozen, *std::move(index));
}

absl::StatusOr<ShardTable::Loaded> ShardTable::Load(uint32_t number, std::shared_ptr<const sources::ShardIndex> index) {
  const absl::StatusOr<std::string> path = Resolve(number);
  if (!path.ok()) return Unreadable(number, path.status());
  for (int indexings = 0;; ++indexings) {
    if (index == nullptr) {
      PS_ASSIGN_OR_RETURN(index, FetchIndex(number, *path));
    }
    absl::StatusOr<std::shared_ptr<const sources::ShardReader>> reader = OpenFileOf(*path, index);
    if (reader.ok()) return Loaded{std::move(index), *std::move(reader)};
    if (!absl::IsFailedPrecondition(reader.status())) return Unreadable(number, reader.status());
    // The file has changed since it was indexed.
    index = nullptr;
    if (indexings == kIndexings) {
      return absl::UnavailableError(absl::StrCat(PathOf(number), ": another program is writing to it"));
    }
  }
}

bool ShardTable::FinishLoad(uint32_t number, absl::StatusOr<Loaded> loaded, bool last, Nanos* again) {
  Shard& shard = shards_[number];
  const absl::Status status = loaded.status();
  if (status.ok()) NoteRootsOf(*loaded->index);
  std::vector<std::weak_ptr<ReadyWaiter>> waiters;
  std::shared_ptr<const sources::ShardIndex> index;
  {
    MutexLock lock(&shard.mutex);
    if (!last && MayPass(status) && ++shard.tries < kOpenTries && !stop_.stop_requested()) {
      *again = clock_->Now() + (kFirstPause << (shard.tries - 1));
      return false;
    }
    shard.tries = 0;
    shard.loading = false;
    shard.failure = status;
    if (status.ok()) {
      shard.failures = 0;
      if (shard.index != loaded->index) {
        DropIndex(&shard);
        shard.index = loaded->index;
        index_bytes_.fetch_add(shard.index->MemoryBytes());
      }
      SetReader(&shard, std::move(loaded->reader));
      index = shard.index;
    } else {
      DropIndex(&shard);
      SetReader(&shard, nullptr);
      shard.failed_until = clock_->Now() + std::min(kLongestFailure, kFirstFailure << std::min(shard.failures, 8));
      ++shard.failures;
    }
    shard.used.store(true, std::memory_order_relaxed);
    waiters.swap(shard.waiters);
    shard.loaded.NotifyAll();
  }
  if (status.ok()) {
    FoundWell(number);
  } else {
    ReportError(number, status);
  }
  for (const std::weak_ptr<ReadyWaiter>& weak : waiters) {
    if (const std::shared_ptr<ReadyWaiter> waiter = weak.lock()) waiter->OnReady(index);
  }
  Trim();
  return true;
}

// ---- Limits ---------------------------------------------------------------------------------------------------------

void ShardTable::SetReader(Shard* shard, std::shared_ptr<const sources::ShardReader> reader) {
  if (shard->reader != nullptr) open_.fetch_sub(1);
  shard->reader = std::move(reader);
  if (shard->reader != nullptr) open_.fetch_add(1);
}

void ShardTable::DropIndex(Shard* shard) {
  if (shard->index != nullptr) index_bytes_.fetch_sub(shard->index->MemoryBytes());
  shard->index.reset();
  shard->gone.reset();
}

// Evicts by second chance, like the hand of a clock. Indexes and readers in use stay alive until their users release
// them.
void ShardTable::Trim() {
  MutexLock lock(&hand_mutex_);
  for (size_t steps = 0; steps < 2 * shards_.size(); ++steps) {
    const bool files = open_.load() > options_.max_open_shards;
    const bool indexes = index_bytes_.load() > options_.max_index_bytes;
    if (!files && !indexes) return;
    hand_ = (hand_ + 1) % shards_.size();
    Shard& shard = shards_[hand_];
    if (shard.used.exchange(false)) continue;
    MutexLock shard_lock(&shard.mutex);
    SetReader(&shard, nullptr);
    if (indexes && shard.index != nullptr) {
      std::weak_ptr<const sources::ShardIndex> gone = shard.index;
      DropIndex(&shard);
      shard.gone = std::move(gone);
    }
  }
}

}  // namespace penstock::loader
