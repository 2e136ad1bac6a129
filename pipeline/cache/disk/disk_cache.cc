#include "pipeline/cache/disk/disk_cache.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "pipeline/cache/disk/cache_folder.h"

namespace penstock::cache {
namespace {

// Interval of checks whether another process removed a folder.
constexpr Nanos kLookInterval = 2 * kSecond;
// Pause in admission after a failed write.
constexpr Nanos kPause = 60 * kSecond;
// Pause in admission after the index found no memory.
constexpr Nanos kIndexPause = kSecond;

}  // namespace

DiskCache::DiskCache(DiskCacheOptions options) : options_(std::move(options)), writer_(1, "ps-disk") {}

absl::StatusOr<std::shared_ptr<DiskCache>> DiskCache::Open(DiskCacheOptions options) {
  std::shared_ptr<DiskCache> cache(new DiskCache(std::move(options)));
  absl::StatusOr<CacheFolderLock> lock = CacheFolderLock::Take(cache->options_.folder);
  if (!lock.ok()) return lock.status();
  cache->lock_ = *std::move(lock);
  absl::StatusOr<std::vector<DiskCacheEntry>> there = ListDiskCache(cache->options_.folder);
  if (!there.ok()) return there.status();
  for (const DiskCacheEntry& entry : *there) {
    cache->unused_.push_back(entry);
    cache->unused_bytes_ += entry.bytes;
  }
  if (cache->options_.limit_bytes == 0) {
    const absl::StatusOr<uint64_t> free = FreeBytes(cache->options_.folder);
    if (!free.ok()) return free.status();
    cache->options_.limit_bytes = (*free + cache->unused_bytes_) / 2;
  }
  return cache;
}

DiskCache::~DiskCache() { Flush(); }

std::shared_ptr<const void> DiskCache::Use(uint64_t space, const std::string& about) {
  {
    MutexLock lock(&mutex_);
    Space& used = spaces_[space];
    used.about = about;
    ++used.users;
  }
  writer_.Post([this, space] { TakeUp(space); });
  // A non-null pointer without an object. Only its deleter matters.
  return {this, [this, space](const void*) { writer_.Post([this, space] { EndUse(space); }); }};
}

std::shared_ptr<DiskSpace> DiskCache::Find(uint64_t space) {
  const Nanos now = options_.clock->Now();
  Nanos look = next_look_.load(std::memory_order_relaxed);
  if (now >= look && next_look_.compare_exchange_strong(look, now + kLookInterval)) {
    writer_.Post([this] { LookForRemoved(); });
  }
  MutexLock lock(&mutex_);
  const auto it = spaces_.find(space);
  return it == spaces_.end() ? nullptr : it->second.files;
}

bool DiskCache::Contains(const CacheKey& key) {
  const std::shared_ptr<DiskSpace> files = Find(key.space);
  return files != nullptr && files->Contains(key.record);
}

std::optional<std::string_view> DiskCache::Read(const CacheKey& key, uint32_t length, char* out) {
  const std::shared_ptr<DiskSpace> files = Find(key.space);
  std::optional<std::string_view> found;
  if (files != nullptr && files->Contains(key.record)) {
    const Nanos start = options_.clock->Now();
    const absl::StatusOr<std::optional<std::string_view>> bytes = files->Read(key.record, length, out);
    if (bytes.ok()) {
      found = *bytes;
      if (!found.has_value()) damaged_.fetch_add(1, std::memory_order_relaxed);
    } else {
      writer_.Post([this, status = bytes.status()] { Warn(status); });
    }
    if (found.has_value()) {
      bytes_read_.fetch_add(length, std::memory_order_relaxed);
      read_nanos_.fetch_add(static_cast<uint64_t>(options_.clock->Now() - start), std::memory_order_relaxed);
    }
  }
  (found.has_value() ? hits_ : misses_).fetch_add(1, std::memory_order_relaxed);
  return found;
}

void DiskCache::WillRead(const CacheKey& key, uint32_t length) {
  if (const std::shared_ptr<DiskSpace> files = Find(key.space)) files->WillRead(key.record, length);
}

void DiskCache::Offer(const CacheKey& key, std::string_view bytes) {
  if (options_.clock->Now() < paused_until_.load(std::memory_order_relaxed)) return;
  if (full_.load(std::memory_order_relaxed) || bytes.size() > UINT32_MAX || Contains(key)) return;
  if (queued_.fetch_add(bytes.size()) + bytes.size() > options_.queue_bytes) {
    queued_.fetch_sub(bytes.size());
    return;
  }
  writer_.Post([this, key, copy = std::string(bytes)] {
    Write(key, copy);
    queued_.fetch_sub(copy.size());
  });
}

void DiskCache::RunOnWriter(absl::FunctionRef<void()> work) {
  Mutex mutex;
  CondVar changed;
  bool done = false;
  writer_.Post([&] {
    work();
    MutexLock lock(&mutex);
    done = true;
    changed.NotifyAll();
  });
  MutexLock lock(&mutex);
  while (!done) changed.Wait(&mutex);
}

void DiskCache::Flush() {
  RunOnWriter([] {});
}

absl::StatusOr<uint64_t> DiskCache::Remove(uint64_t space) {
  absl::StatusOr<uint64_t> removed = uint64_t{0};
  RunOnWriter([&] { removed = RemoveUnused(space); });
  return removed;
}

absl::StatusOr<uint64_t> DiskCache::RemoveUnused(uint64_t space) {
  {
    MutexLock lock(&mutex_);
    if (spaces_.contains(space)) {
      return absl::FailedPreconditionError(absl::StrCat("disk cache ", options_.folder, ": data set ",
                                                        absl::Hex(space, absl::kZeroPad16), " is in use"));
    }
  }
  absl::StatusOr<uint64_t> freed = RemoveSpace(options_.folder, space);
  if (!freed.ok()) return freed;
  const auto entry =
      std::find_if(unused_.begin(), unused_.end(), [space](const DiskCacheEntry& of) { return of.space == space; });
  if (entry == unused_.end()) return freed;
  unused_bytes_ -= entry->bytes;
  unused_.erase(entry);
  full_ = false;
  return freed;
}

DiskCacheStats DiskCache::Stats() const {
  DiskCacheStats stats;
  stats.hits = hits_.load();
  stats.misses = misses_.load();
  stats.bytes_read = bytes_read_.load();
  stats.damaged = damaged_.load();
  stats.read_seconds = static_cast<double>(read_nanos_.load()) / kSecond;
  stats.bytes = unused_bytes_.load();
  stats.limit_bytes = options_.limit_bytes;
  MutexLock lock(&mutex_);
  for (const auto& [space, used] : spaces_) {
    if (used.files == nullptr) continue;
    stats.bytes += used.files->bytes();
    stats.records += used.files->entries();
  }
  return stats;
}

void DiskCache::GrowIndexWith(std::weak_ptr<DiskIndexMemory> memory) {
  MutexLock lock(&mutex_);
  index_memory_ = std::move(memory);
  new_index_memory_ = true;
}

std::shared_ptr<DiskIndexMemory> DiskCache::IndexMemory() {
  MutexLock lock(&mutex_);
  std::shared_ptr<DiskIndexMemory> memory = index_memory_.lock();
  if (std::exchange(new_index_memory_, false) || memory == nullptr) index_grown_ = 0;
  return memory;
}

size_t DiskCache::IndexRoom(uint64_t wanted) {
  const std::shared_ptr<DiskIndexMemory> memory = IndexMemory();
  const uint64_t records = Stats().records;
  const auto room = [&] {
    const uint64_t most = (options_.index_bytes + index_grown_) / DiskSpace::kEntryMemory;
    return most - std::min(most, records);
  };
  while (memory != nullptr && room() < wanted && options_.clock->Now() >= grow_again_) {
    if (memory->ReserveIndex(options_.index_step)) {
      index_grown_ += options_.index_step;
    } else {
      grow_again_ = options_.clock->Now() + kIndexPause;
    }
  }
  return static_cast<size_t>(room());
}

void DiskCache::ShrinkIndex() {
  const std::shared_ptr<DiskIndexMemory> memory = IndexMemory();
  const uint64_t needed = Stats().records * DiskSpace::kEntryMemory;
  while (memory != nullptr && index_grown_ >= options_.index_step &&
         options_.index_bytes + index_grown_ - options_.index_step >= needed) {
    memory->ReleaseIndex(options_.index_step);
    index_grown_ -= options_.index_step;
  }
}

void DiskCache::TakeUp(uint64_t space) {
  std::string about;
  {
    MutexLock lock(&mutex_);
    const auto it = spaces_.find(space);
    if (it == spaces_.end() || it->second.files != nullptr) return;
    about = it->second.about;
  }
  // The space counted as unused, even if it cannot be loaded.
  const auto is_this = [space](const DiskCacheEntry& entry) { return entry.space == space; };
  const auto unused = std::find_if(unused_.begin(), unused_.end(), is_this);
  const size_t room = IndexRoom(unused == unused_.end() ? 0 : unused->records);
  absl::StatusOr<std::unique_ptr<DiskSpace>> files =
      DiskSpace::Open(SpaceFolder(options_.folder, space), space, about, room);
  if (!files.ok()) {
    Warn(files.status());
    return;
  }
  if (unused != unused_.end()) {
    unused_bytes_ -= unused->bytes;
    unused_.erase(unused);
  }
  (*files)->MarkUsed();
  full_ = false;
  MutexLock lock(&mutex_);
  if (const auto it = spaces_.find(space); it != spaces_.end()) it->second.files = *std::move(files);
}

void DiskCache::Write(const CacheKey& key, const std::string& bytes) {
  std::shared_ptr<DiskSpace> files;
  {
    MutexLock lock(&mutex_);
    const auto it = spaces_.find(key.space);
    if (it != spaces_.end()) files = it->second.files;
  }
  if (files == nullptr || files->Contains(key.record)) return;
  if (IndexRoom(1) == 0) {
    paused_until_ = options_.clock->Now() + kIndexPause;
    return;
  }
  if (!MakeRoom(kDiskHeaderBytes + bytes.size() + kDiskIndexEntryBytes)) {
    full_ = true;  // until room becomes free
    return;
  }
  const absl::Status written = files->Append(key.record, bytes);
  if (written.ok()) return;
  paused_until_ = options_.clock->Now() + kPause;
  Warn(written);
}

void DiskCache::EndUse(uint64_t space) {
  std::shared_ptr<DiskSpace> files;
  std::string about;
  {
    MutexLock lock(&mutex_);
    const auto it = spaces_.find(space);
    if (it == spaces_.end() || --it->second.users > 0) return;
    files = std::move(it->second.files);
    about = it->second.about;
    spaces_.erase(it);
  }
  if (files == nullptr) return;
  files->MarkUsed();
  unused_.insert(unused_.begin(), {space, about, files->bytes(), files->entries(), 0});
  unused_bytes_ += files->bytes();
  full_ = false;
  files.reset();
  ShrinkIndex();
}

void DiskCache::LookForRemoved() {
  std::vector<std::shared_ptr<DiskSpace>> in_use;
  {
    MutexLock lock(&mutex_);
    for (const auto& [space, used] : spaces_) {
      if (used.files != nullptr) in_use.push_back(used.files);
    }
  }
  std::vector<uint64_t> removed;
  for (const std::shared_ptr<DiskSpace>& files : in_use) {
    if (files->IsInPlace()) continue;
    removed.push_back(files->space());
    MutexLock lock(&mutex_);
    if (const auto it = spaces_.find(files->space()); it != spaces_.end()) it->second.files = nullptr;
  }
  for (const uint64_t space : removed) TakeUp(space);
  for (auto it = unused_.begin(); it != unused_.end();) {
    if (HasSpace(options_.folder, it->space)) {
      ++it;
      continue;
    }
    unused_bytes_ -= it->bytes;
    it = unused_.erase(it);
    full_ = false;
  }
}

bool DiskCache::MakeRoom(uint64_t bytes) {
  while (Stats().bytes + bytes > options_.limit_bytes) {
    if (unused_.empty()) return false;
    const DiskCacheEntry& oldest = unused_.back();
    const absl::StatusOr<uint64_t> freed = RemoveSpace(options_.folder, oldest.space);
    if (!freed.ok()) Warn(freed.status());
    unused_bytes_ -= oldest.bytes;
    unused_.pop_back();
  }
  return true;
}

void DiskCache::Warn(const absl::Status& status) {
  bool* const warned = absl::IsResourceExhausted(status) ? &warned_full_ : &warned_failing_;
  if (std::exchange(*warned, true) || options_.warn == nullptr) return;
  options_.warn(absl::StrCat("disk cache ", options_.folder, ": ", status.message(),
                             "; the worker reads from storage and stores nothing here until this works again"));
}

}  // namespace penstock::cache
