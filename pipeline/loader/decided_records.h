// Records that count as bad because every copy of them is damaged (docs/semantics.md).
#ifndef PENSTOCK_PIPELINE_LOADER_DECIDED_RECORDS_H_
#define PENSTOCK_PIPELINE_LOADER_DECIDED_RECORDS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "base/mutex.h"

namespace penstock::loader {

// Thread-safe. Records are added and never removed.
class DecidedRecords {
 public:
  // Also contains the records of `wider`, including those that it gets later. `wider` may be null.
  explicit DecidedRecords(std::shared_ptr<const DecidedRecords> wider = nullptr) : wider_(std::move(wider)) {}

  // Adds numbers in the snapshot. Returns how many of them are new here.
  template <typename Records>
  size_t Add(const Records& records) {
    MutexLock lock(&mutex_);
    const size_t before = records_.size();
    records_.insert(records.begin(), records.end());
    if (!records_.empty()) any_.store(true, std::memory_order_release);
    return records_.size() - before;
  }
  // Returns whether the record is bad. Cheap while there are none.
  bool Contains(uint64_t record) const {
    if (any_.load(std::memory_order_acquire)) {
      MutexLock lock(&mutex_);
      if (records_.contains(record)) return true;
    }
    return wider_ != nullptr && wider_->Contains(record);
  }

 private:
  const std::shared_ptr<const DecidedRecords> wider_;
  std::atomic<bool> any_{false};
  mutable Mutex mutex_;
  absl::flat_hash_set<uint64_t> records_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_DECIDED_RECORDS_H_
