#include "pipeline/import/items_ahead.h"

#include <utility>

namespace penstock::imports {

ItemsAhead::~ItemsAhead() {
  stop_.request_stop();
  MutexLock lock(&mutex_);
  waiting_.clear();
  while (under_way_ > 0) changed_.Wait(&mutex_);
}

void ItemsAhead::Announce(uint64_t item) {
  const uint64_t bytes = bytes_of_(item);
  {
    MutexLock lock(&mutex_);
    if (early_.erase(item) > 0) return;
    items_[item].bytes = bytes;
    waiting_.push_back(item);
  }
  FetchWhatFits();
}

absl::StatusOr<FetchedItem> ItemsAhead::Take(uint64_t item) {
  const uint64_t bytes = bytes_of_(item);
  bool begin = false;
  {
    MutexLock lock(&mutex_);
    const auto [found, early] = items_.try_emplace(item);
    if (early) {
      found->second.bytes = bytes;
      early_.insert(item);
    }
    begin = !std::exchange(found->second.begun, true);
    if (begin) {
      ++under_way_;
      held_bytes_ += found->second.bytes;
    }
  }
  if (begin) Begin(item, storage::CallPriority::kUrgent);
  std::optional<absl::StatusOr<FetchedItem>> result;
  {
    MutexLock lock(&mutex_);
    const auto found = items_.find(item);
    while (!found->second.result.has_value()) changed_.Wait(&mutex_);
    result = std::move(found->second.result);
    held_bytes_ -= found->second.bytes;
    items_.erase(found);
  }
  FetchWhatFits();
  return *std::move(result);
}

void ItemsAhead::FetchWhatFits() {
  for (;;) {
    uint64_t item = 0;
    {
      MutexLock lock(&mutex_);
      // Drops items that Take() has already begun or taken.
      while (!waiting_.empty()) {
        const auto first = items_.find(waiting_.front());
        if (first != items_.end() && !first->second.begun) break;
        waiting_.pop_front();
      }
      if (waiting_.empty() || under_way_ >= options_.under_way) return;
      item = waiting_.front();
      Item& next = items_.find(item)->second;
      if (held_bytes_ > 0 && held_bytes_ + next.bytes > options_.bytes) return;
      waiting_.pop_front();
      next.begun = true;
      ++under_way_;
      held_bytes_ += next.bytes;
    }
    Begin(item, storage::CallPriority::kAhead);
  }
}

void ItemsAhead::Begin(uint64_t item, storage::CallPriority priority) {
  fetch_(item, {.priority = priority, .stop = stop_.get_token()}, [this, item](absl::StatusOr<FetchedItem> fetched) {
    // Holds the lock until the end. The destructor may wait for this call, and destroys the object when the lock is
    // released.
    MutexLock lock(&mutex_);
    items_.find(item)->second.result.emplace(std::move(fetched));
    --under_way_;
    changed_.NotifyAll();
  });
}

}  // namespace penstock::imports
