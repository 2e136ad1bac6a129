#include "pipeline/cache/row_cache.h"

#include <utility>

#include "base/hash.h"

namespace penstock {

size_t RowKeyHasher::operator()(const RowKey& key) const { return HashWords({key.space, key.epoch, key.number}); }

std::shared_ptr<const std::string> RowCache::Find(const RowKey& key) {
  if (limit_ == 0) return nullptr;
  MutexLock lock(&mutex_);
  const auto it = entries_.find(key);
  ++(it != entries_.end() ? hits_ : misses_);
  return it != entries_.end() ? it->second.row : nullptr;
}

bool RowCache::Contains(const RowKey& key) {
  if (limit_ == 0) return false;
  MutexLock lock(&mutex_);
  return entries_.contains(key);
}

bool RowCache::HasRoomToKeep(size_t bytes) {
  if (limit_ == 0) return false;
  MutexLock lock(&mutex_);
  return bytes_ - shared_bytes_ + bytes + kEntryOverhead <= limit_;
}

bool RowCache::Keep(const RowKey& key, std::shared_ptr<const std::string> row) {
  if (limit_ == 0) return false;
  const uint64_t charge = Charge(*row);
  std::list<std::shared_ptr<const std::string>> dropped;  // freed after the lock
  MutexLock lock(&mutex_);
  if (entries_.contains(key)) return true;
  if (!MakeRoom(charge, &dropped)) return false;
  entries_.emplace(key, Entry{std::move(row), true, {}});
  bytes_ += charge;
  return true;
}

bool RowCache::Share(const RowKey& key, std::shared_ptr<const std::string> row) {
  if (limit_ == 0) return false;
  const uint64_t charge = Charge(*row);
  std::list<std::shared_ptr<const std::string>> dropped;
  MutexLock lock(&mutex_);
  if (entries_.contains(key)) return true;
  if (!MakeRoom(charge, &dropped)) return false;
  entries_.emplace(key, Entry{std::move(row), false, shared_.insert(shared_.end(), key)});
  bytes_ += charge;
  shared_bytes_ += charge;
  return true;
}

bool RowCache::MakeRoom(uint64_t bytes, std::list<std::shared_ptr<const std::string>>* dropped) {
  if (bytes_ - shared_bytes_ + bytes > limit_) return false;
  while (bytes_ + bytes > limit_) Remove(entries_.find(shared_.front()), dropped);
  return true;
}

void RowCache::Remove(Entries::iterator it, std::list<std::shared_ptr<const std::string>>* dropped) {
  const uint64_t charge = Charge(*it->second.row);
  bytes_ -= charge;
  if (!it->second.kept) {
    shared_bytes_ -= charge;
    shared_.erase(it->second.place);
  }
  dropped->push_back(std::move(it->second.row));
  entries_.erase(it);
}

void RowCache::DropSpace(uint64_t space) {
  std::list<std::shared_ptr<const std::string>> dropped;
  MutexLock lock(&mutex_);
  for (auto it = entries_.begin(); it != entries_.end();) {
    const auto next = std::next(it);
    if (it->first.space == space) Remove(it, &dropped);
    it = next;
  }
}

uint64_t RowCache::bytes() const {
  MutexLock lock(&mutex_);
  return bytes_;
}

uint64_t RowCache::hits() const {
  MutexLock lock(&mutex_);
  return hits_;
}

uint64_t RowCache::misses() const {
  MutexLock lock(&mutex_);
  return misses_;
}

}  // namespace penstock
