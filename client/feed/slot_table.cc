#include "client/feed/slot_table.h"

#include <utility>

namespace penstock::feed {

SlotName SlotTable::Put(Batch batch, uint64_t bytes) {
  MutexLock lock(&mutex_);
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const uint32_t number = free_.back();
  free_.pop_back();
  Slot& slot = slots_[number];
  ++slot.generation;
  slot.bytes = bytes;
  slot.batch = std::move(batch);
  ++held_.batches;
  held_.bytes += bytes;
  return {number, slot.generation};
}

bool SlotTable::Release(const SlotName& name) {
  std::optional<Batch> gone;  // destroyed after the lock is released
  MutexLock lock(&mutex_);
  if (name.slot >= slots_.size()) return false;
  Slot& slot = slots_[name.slot];
  if (!slot.batch.has_value() || slot.generation != name.generation) return false;
  gone.swap(slot.batch);
  --held_.batches;
  held_.bytes -= slot.bytes;
  free_.push_back(name.slot);
  return true;
}

SlotTable::Held SlotTable::held() const {
  MutexLock lock(&mutex_);
  return held_;
}

}  // namespace penstock::feed
