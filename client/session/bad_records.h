// Records that were masked or substituted, on their way to the coordinator.
#ifndef PENSTOCK_CLIENT_SESSION_BAD_RECORDS_H_
#define PENSTOCK_CLIENT_SESSION_BAD_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/mutex.h"

namespace penstock {

// Thread-safe.
class BadRecords {
 public:
  static constexpr size_t kMax = 65536;  // of one report; more are left out

  void Add(const std::vector<uint64_t>& records) {
    MutexLock lock(&mutex_);
    for (const uint64_t record : records) {
      if (fresh_.size() + unconfirmed_.size() < kMax) fresh_.push_back(record);
    }
  }
  // For a report: what came since the last one, and what that one said unless it was confirmed. One report at a time.
  std::vector<uint64_t> Take() {
    MutexLock lock(&mutex_);
    unconfirmed_.insert(unconfirmed_.end(), fresh_.begin(), fresh_.end());
    fresh_.clear();
    return unconfirmed_;
  }
  // The last report arrived.
  void Confirm() {
    MutexLock lock(&mutex_);
    unconfirmed_.clear();
  }

 private:
  Mutex mutex_;
  std::vector<uint64_t> fresh_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint64_t> unconfirmed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SESSION_BAD_RECORDS_H_
