#include "pipeline/cache/row_cache.h"

#include <map>
#include <utility>
#include <vector>

#include "base/hash.h"

namespace penstock::cache {

namespace {

struct HeapRow {
  explicit HeapRow(std::string bytes) : own(std::move(bytes)), row{own, false} {}
  const std::string own;
  const CachedRow row;
};

}  // namespace

size_t RowKeyHasher::operator()(const RowKey& key) const { return HashWords({key.space, key.epoch, key.number}); }

std::shared_ptr<const CachedRow> RowCache::Find(const RowKey& key) {
  if (limit() == 0) return nullptr;
  std::shared_ptr<const CachedRow> row;
  {
    ReaderMutexLock lock(&mutex_);
    const auto it = entries_.find(key);
    if (it != entries_.end()) row = it->second.row;
  }
  (row != nullptr ? hits_ : misses_).fetch_add(1, std::memory_order_relaxed);
  if (row != nullptr) served_.fetch_add(row->bytes.size(), std::memory_order_relaxed);
  return row;
}

bool RowCache::Contains(const RowKey& key) {
  if (limit() == 0) return false;
  ReaderMutexLock lock(&mutex_);
  return entries_.contains(key);
}

bool RowCache::HasRoomToKeep(size_t bytes) {
  if (limit() == 0) return false;
  ReaderMutexLock lock(&mutex_);
  return bytes_ - shared_bytes_ + bytes + kEntryOverhead <= limit();
}

uint64_t RowCache::Charge(const std::string& row) const {
  return (GoesToSharedFile(row.size()) ? RowFiles::Rounded(row.size()) : row.capacity()) + kEntryOverhead;
}

RowCache::PlacedRow RowCache::Placed(uint64_t space, std::string row) {
  if (GoesToSharedFile(row.size())) {
    std::shared_ptr<RowFiles> files;
    {
      WriterMutexLock lock(&mutex_);
      std::shared_ptr<RowFiles>& known = files_[space];
      if (known == nullptr) known = std::make_shared<RowFiles>(shared_files_);
      files = known;
    }
    if (const RowFiles::Row written = files->Write(row, limit()); written.bytes != nullptr) {
      struct SharedFileRow {
        std::shared_ptr<const std::string_view> bytes;
        CachedRow row;
      };
      auto placed = std::make_shared<const SharedFileRow>(SharedFileRow{written.bytes, {*written.bytes, true}});
      return {{placed, &placed->row}, written.file};
    }
  }
  auto heap = std::make_shared<const HeapRow>(std::move(row));
  return {{heap, &heap->row}, 0};
}

bool RowCache::Keep(const RowKey& key, std::string row) {
  if (limit() == 0) return false;
  const uint64_t charge = Charge(row);
  uint64_t files_left;
  PlacedRow placed;
  Dropped dropped;  // freed after the lock is released
  {
    WriterMutexLock lock(&mutex_);
    if (entries_.contains(key)) return true;
    if (!MakeRoom(charge, &dropped)) return false;
    // Reserves the room first, so that only one of several threads that keep the same row writes it.
    entries_.emplace(key, Entry{nullptr, charge, true, 0, 0, {}});
    bytes_ += charge;
    files_left = files_left_;
  }
  placed = Placed(key.space, std::move(row));
  WriterMutexLock lock(&mutex_);
  const auto it = entries_.find(key);
  if (it == entries_.end()) return false;  // its space was dropped meanwhile
  if (it->second.row != nullptr) return true;
  if (placed.file != 0 && files_left != files_left_) {
    // The evicted file may hold this row, which would keep the whole file in memory.
    Remove(it, &dropped);
    return false;
  }
  it->second.row = std::move(placed.row);
  it->second.file = placed.file;
  return true;
}

bool RowCache::Share(const RowKey& key, std::string row, int takers) {
  if (limit() == 0) return false;
  auto heap = std::make_shared<const HeapRow>(std::move(row));
  const uint64_t charge = heap->own.capacity() + kEntryOverhead;
  Dropped dropped;
  WriterMutexLock lock(&mutex_);
  if (entries_.contains(key)) return true;
  if (!MakeRoom(charge, &dropped)) return false;
  entries_.emplace(key, Entry{{heap, &heap->row}, charge, false, takers, 0, shared_.insert(shared_.end(), key)});
  bytes_ += charge;
  shared_bytes_ += charge;
  return true;
}

void RowCache::ReportTaken(const RowKey& key) {
  Dropped dropped;  // freed after the lock is released
  WriterMutexLock lock(&mutex_);
  const auto it = entries_.find(key);
  if (it == entries_.end() || it->second.kept || --it->second.takers > 0) return;
  Remove(it, &dropped);
}

bool RowCache::MakeRoom(uint64_t bytes, Dropped* dropped) {
  if (bytes_ - shared_bytes_ + bytes > limit()) return false;
  while (bytes_ + bytes > limit()) Remove(entries_.find(shared_.front()), dropped);
  return true;
}

void RowCache::Remove(Entries::iterator it, Dropped* dropped) {
  const uint64_t charge = it->second.charge;
  bytes_ -= charge;
  if (!it->second.kept) {
    shared_bytes_ -= charge;
    shared_.erase(it->second.place);
  }
  dropped->push_back(std::move(it->second.row));
  entries_.erase(it);
}

void RowCache::RemoveSpace(uint64_t space, Dropped* dropped, std::vector<std::shared_ptr<RowFiles>>* files) {
  if (const auto found = files_.find(space); found != files_.end()) {
    files->push_back(std::move(found->second));
    files_.erase(found);
  }
  for (auto it = entries_.begin(); it != entries_.end();) {
    const auto next = std::next(it);
    if (it->first.space == space) Remove(it, dropped);
    it = next;
  }
}

void RowCache::RemoveKept(Dropped* dropped) {
  std::map<uint64_t, std::vector<RowKey>> by_file;
  for (const auto& [key, entry] : entries_) by_file[entry.file].push_back(key);
  for (const RowKey& key : by_file[0]) {
    if (bytes_ <= limit()) return;
    Remove(entries_.find(key), dropped);
  }
  for (auto it = by_file.rbegin(); bytes_ > limit() && it != by_file.rend(); ++it) {
    if (it->first == 0) continue;
    ++files_left_;
    for (const RowKey& key : it->second) Remove(entries_.find(key), dropped);
    if (const auto files = files_.find(it->second.front().space); files != files_.end())
      files->second->Leave(it->first);
  }
}

uint64_t RowCache::DropSpace(uint64_t space) {
  Dropped dropped;
  std::vector<std::shared_ptr<RowFiles>> files;
  WriterMutexLock lock(&mutex_);
  const uint64_t before = bytes_;
  RemoveSpace(space, &dropped, &files);
  return before - bytes_;
}

void RowCache::SetLimit(uint64_t limit_bytes) {
  Dropped dropped;
  WriterMutexLock lock(&mutex_);
  limit_ = limit_bytes;
  while (bytes_ > limit_bytes && !shared_.empty()) Remove(entries_.find(shared_.front()), &dropped);
  if (bytes_ > limit_bytes) RemoveKept(&dropped);
}

uint64_t RowCache::bytes() const {
  ReaderMutexLock lock(&mutex_);
  return bytes_;
}

CacheStats RowCache::Stats() const {
  ReaderMutexLock lock(&mutex_);
  return {limit(), bytes_, hits(), misses(), served_.load(std::memory_order_relaxed), 0};
}

}  // namespace penstock::cache
