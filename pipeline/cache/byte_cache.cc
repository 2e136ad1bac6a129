#include "pipeline/cache/byte_cache.h"

#include <utility>
#include <vector>

#include "base/hash.h"

namespace penstock::cache {

size_t ByteCache::Hasher::operator()(const CacheKey& key) const { return HashWords({key.space, key.record}); }

std::shared_ptr<const std::string> ByteCache::Find(const CacheKey& key) {
  if (limit() == 0) return nullptr;
  Part& part = PartOf(key);
  std::shared_ptr<const std::string> found;
  {
    MutexLock lock(&part.mutex);
    const auto it = part.entries.find(key);
    if (it != part.entries.end()) found = it->second;
  }
  (found != nullptr ? hits_ : misses_).fetch_add(1, std::memory_order_relaxed);
  if (found != nullptr) served_.fetch_add(found->size(), std::memory_order_relaxed);
  return found;
}

bool ByteCache::Contains(const CacheKey& key) {
  if (limit() == 0) return false;
  Part& part = PartOf(key);
  MutexLock lock(&part.mutex);
  return part.entries.contains(key);
}

bool ByteCache::Insert(const CacheKey& key, std::shared_ptr<const std::string> value) {
  if (limit() == 0) return false;
  const uint64_t charge = Charge(*value);
  // Reserves the room before it inserts the entry, so that the limit always holds.
  uint64_t before = bytes_.load();
  do {
    if (before + charge > limit()) return false;
  } while (!bytes_.compare_exchange_weak(before, before + charge));
  Part& part = PartOf(key);
  bool inserted;
  {
    MutexLock lock(&part.mutex);
    inserted = part.entries.try_emplace(key, std::move(value)).second;
  }
  if (!inserted) bytes_.fetch_sub(charge);
  // The limit may have been lowered since the reservation.
  if (bytes_.load() > limit_.load()) Trim();
  return true;
}

void ByteCache::SetLimit(uint64_t limit_bytes) {
  limit_.store(limit_bytes);
  Trim();
}

void ByteCache::Trim() {
  for (Part& part : parts_) {
    if (bytes_.load() <= limit_.load()) return;
    std::vector<std::shared_ptr<const std::string>> dropped;  // freed after the lock is released
    MutexLock lock(&part.mutex);
    for (auto it = part.entries.begin(); it != part.entries.end() && bytes_.load() > limit_.load();) {
      bytes_.fetch_sub(Charge(*it->second));
      dropped.push_back(std::move(it->second));
      it = part.entries.erase(it);
    }
  }
}

uint64_t ByteCache::DropSpace(uint64_t space) {
  uint64_t bytes = 0;
  for (Part& part : parts_) {
    std::vector<std::shared_ptr<const std::string>> dropped;  // freed after the lock is released
    uint64_t charge = 0;
    {
      MutexLock lock(&part.mutex);
      for (auto it = part.entries.begin(); it != part.entries.end();) {
        if (it->first.space != space) {
          ++it;
          continue;
        }
        charge += Charge(*it->second);
        dropped.push_back(std::move(it->second));
        it = part.entries.erase(it);
      }
    }
    dropped.clear();
    bytes_.fetch_sub(charge);
    bytes += charge;
  }
  return bytes;
}

}  // namespace penstock::cache
