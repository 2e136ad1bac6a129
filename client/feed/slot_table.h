// The batches that the trainer holds or is about to receive.
#ifndef PENSTOCK_CLIENT_FEED_SLOT_TABLE_H_
#define PENSTOCK_CLIENT_FEED_SLOT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "client/feed/messages.h"
#include "penstock/batch.h"

namespace penstock::feed {

// Keeps a batch and its memory until it is released. Thread-safe. Batches are destroyed outside the lock.
class SlotTable {
 public:
  // Stores a batch. `bytes` is its size in the arena, for the counts.
  SlotName Put(Batch batch, uint64_t bytes);
  // Releases a batch. Returns false, without effect, if there is no such batch.
  bool Release(const SlotName& name);

  struct Held {
    uint64_t batches = 0;
    uint64_t bytes = 0;
  };
  Held held() const;

 private:
  struct Slot {
    uint32_t generation = 0;
    uint64_t bytes = 0;
    std::optional<Batch> batch;
  };
  mutable Mutex mutex_;
  std::vector<Slot> slots_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint32_t> free_ ABSL_GUARDED_BY(mutex_);
  Held held_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock::feed

#endif  // PENSTOCK_CLIENT_FEED_SLOT_TABLE_H_
