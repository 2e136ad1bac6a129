#include "pipeline/loader/loader_caches.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/heap.h"
#include "base/status_macros.h"

namespace penstock::loader {
namespace {

// Share of the memory of rows and caches that is worth returning to the system. That takes some milliseconds per 100
// MB.
constexpr uint64_t kFreedPart = 32;

// Returns a name of the data set for messages.
std::string AboutShards(const sources::Snapshot& snapshot) {
  if (snapshot.shards().empty()) return "no shards";
  const sources::SnapshotShard& first = snapshot.shards().front();
  const size_t more = snapshot.shards().size() - 1;
  return absl::StrCat(first.root, "/", first.relative_path, more == 0 ? "" : absl::StrCat(" and ", more, " more"));
}

}  // namespace

LoaderCaches::LoaderCaches(const Options& options, RowMemory* rows)
    : all_bytes_(options.bytes),
      limits_(options.limits),
      row_memory_(rows),
      clock_(options.clock),
      disk_(options.disk),
      records_(options.limits.first.records),
      decoded_(options.limits.first.decoded),
      rows_(options.limits.first.rows, options.shared_row_files) {}

uint64_t LoaderCaches::Held() const {
  return std::max(records_.limit(), records_.bytes()) + std::max(decoded_.limit(), decoded_.bytes()) +
         std::max(rows_.limit(), rows_.bytes());
}

void LoaderCaches::ReleaseFreed(uint64_t before) {
  const uint64_t now = bytes();
  {
    MutexLock lock(&mutex_);
    freed_from_ = std::max(freed_from_, before);
    if (freed_from_ < now + all_bytes_ / kFreedPart) return;
    freed_from_ = now;
  }
  ReleaseFreedMemory();
}

uint64_t LoaderCaches::Shrink(const tuning::CacheSizes& to) {
  const uint64_t before = bytes();
  row_memory_->RestartPeak(before);
  const tuning::CacheSizes now = sizes();
  if (to.records < now.records) records_.SetLimit(to.records);
  if (to.decoded < now.decoded) decoded_.SetLimit(to.decoded);
  if (to.rows < now.rows) rows_.SetLimit(to.rows);
  ReleaseFreed(before);
  return row_memory_->Raise(all_bytes_ - std::min(all_bytes_, Held()));
}

tuning::CacheSizes LoaderCaches::SetSizes(const tuning::CacheSizes& to) {
  MutexLock sizing(&sizing_);
  Shrink(to);
  tuning::CacheSizes now = sizes();
  const uint64_t held = Held();
  const uint64_t wanted = std::min(all_bytes_, std::max(held, to.sum()));
  uint64_t room = all_bytes_ - row_memory_->Lower(std::max(all_bytes_ - wanted, rows_need()));
  // If rows do not leave enough memory, the caches that save most time per byte grow first.
  room -= std::min(room, held);
  const auto grow = [&room](uint64_t from, uint64_t upto) {
    const uint64_t more = std::min(room, upto - std::min(upto, from));
    room -= more;
    return from + more;
  };
  now.rows = grow(now.rows, to.rows);
  now.decoded = grow(now.decoded, to.decoded);
  now.records = grow(now.records, to.records);
  rows_.SetLimit(now.rows);
  decoded_.SetLimit(now.decoded);
  records_.SetLimit(now.records);
  return now;
}

bool LoaderCaches::Release(uint64_t bytes, For whom) {
  MutexLock sizing(&sizing_);
  tuning::CacheSizes to = sizes();
  uint64_t lacks = bytes;
  const auto release = [&lacks](bool pinned, uint64_t first, uint64_t* size) {
    if (pinned || *size <= first) return;
    const uint64_t released = std::min(lacks, *size - first);
    *size -= released;
    lacks -= released;
  };
  release(limits_.decoded_pinned, limits_.first.decoded, &to.decoded);
  release(limits_.records_pinned, limits_.first.records, &to.records);
  release(limits_.rows_pinned, limits_.first.rows, &to.rows);
  if (lacks > 0) return false;
  const uint64_t rows = Shrink(to);
  if (whom == For::kDiskIndex) return true;
  MutexLock lock(&mutex_);
  rows_need_ = std::max(rows_need_, rows);
  return true;
}

uint64_t LoaderCaches::rows_need() {
  MutexLock lock(&mutex_);
  return rows_need_;
}

void LoaderCaches::NoSessions() {
  MutexLock lock(&mutex_);
  rows_need_ = 0;
}

void LoaderCaches::AddJob(const std::shared_ptr<const LoadJob>& job) {
  MutexLock lock(&mutex_);
  const auto known = std::find_if(jobs_.begin(), jobs_.end(), [&job](const CachedJob& entry) {
    return !entry.job.owner_before(job) && !job.owner_before(entry.job);  // never the last owner, unlike lock()
  });
  if (known != jobs_.end()) return;
  std::shared_ptr<const void> on_disk;
  if (disk_ != nullptr) on_disk = disk_->Use(job->record_space(), AboutShards(job->reader().snapshot()));
  jobs_.push_back({job, job->record_space(), job->decoded_space(), job->shared_space(), std::move(on_disk)});
}

void LoaderCaches::Sweep() {
  MutexLock sweeping(&sweeping_);
  std::vector<CachedJob> gone;
  std::set<uint64_t> live;
  {
    MutexLock lock(&mutex_);
    for (auto it = jobs_.begin(); it != jobs_.end();) {
      if (it->job.expired()) {  // may change at any time
        gone.push_back(std::move(*it));
        it = jobs_.erase(it);
        continue;
      }
      live.insert({it->record_space, it->decoded_space, it->shared_space});
      ++it;
    }
  }
  if (gone.empty()) return;
  const uint64_t before = bytes();
  std::vector<Swept> swept;
  const Nanos now = clock_->Now();
  for (const CachedJob& job : gone) {
    uint64_t freed = 0;
    for (const uint64_t space : std::set<uint64_t>{job.record_space, job.decoded_space, job.shared_space}) {
      if (live.count(space) == 0)
        freed += records_.DropSpace(space) + decoded_.DropSpace(space) + rows_.DropSpace(space);
    }
    if (freed > 0) swept.push_back({job.record_space, freed, now});
  }
  gone.clear();
  ReleaseFreed(before);
  MutexLock lock(&mutex_);
  swept_.insert(swept_.end(), swept.begin(), swept.end());
  while (swept_.size() > kMostSwept) swept_.pop_front();
}

absl::StatusOr<PurgedCaches> LoaderCaches::Purge(uint64_t record_space) {
  Sweep();
  PurgedCaches purged;
  {
    MutexLock lock(&mutex_);
    for (const CachedJob& job : jobs_) {
      if (job.record_space != record_space) continue;
      return absl::UnavailableError("streams of readers still use its data set");
    }
    const Nanos since = clock_->Now() - kSweptRecently;
    for (auto it = swept_.begin(); it != swept_.end();) {
      if (it->record_space == record_space && it->at >= since) purged.memory += it->bytes;
      it = it->record_space == record_space ? swept_.erase(it) : it + 1;
    }
  }
  if (disk_ == nullptr) return purged;
  PS_ASSIGN_OR_RETURN(purged.disk, disk_->Remove(record_space));
  return purged;
}

void LoaderCaches::ReleaseDisk() {
  std::vector<CachedJob> users;
  {
    MutexLock lock(&mutex_);
    users.swap(jobs_);
  }
  users.clear();
  disk_.reset();
}

void LoaderCaches::AddTo(const RowCosts::Saved& saved, LoaderStats* stats) const {
  const auto of = [](cache::CacheStats cache, double seconds, bool chosen = false) {
    cache.saved_seconds = std::max(0.0, seconds);
    cache.chosen = chosen;
    return cache;
  };
  stats->record_cache = of(records_.Stats(), saved.record, !limits_.records_pinned);
  stats->decoded_cache = of(decoded_.Stats(), saved.decoded, !limits_.decoded_pinned);
  stats->row_cache = of(rows_.Stats(), saved.row, !limits_.rows_pinned);
  if (disk_ == nullptr) return;
  const cache::DiskCacheStats disk = disk_->Stats();
  const double mean = stats->storage_reads > 0 ? stats->storage_seconds / static_cast<double>(stats->storage_reads) : 0;
  stats->disk_cache = of({disk.limit_bytes, disk.bytes, disk.hits, disk.misses, disk.bytes_read, 0},
                         mean * static_cast<double>(disk.hits) - disk.read_seconds);
}

}  // namespace penstock::loader
