// Records that were masked or substituted, on their way to the coordinator.
#ifndef PENSTOCK_CLIENT_SESSION_BAD_RECORDS_H_
#define PENSTOCK_CLIENT_SESSION_BAD_RECORDS_H_

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "penstock/v1/submitted_job.pb.h"

namespace penstock {

// Thread-safe.
class BadRecords {
 public:
  // Of one report; more are left out.
  static constexpr size_t kMax = 65536;
  static constexpr size_t kMaxMessages = 1024;  // further ones are told of without their messages

  void Add(std::vector<v1::BadRecord> records) {
    MutexLock lock(&mutex_);
    for (v1::BadRecord& record : records) {
      const size_t there = fresh_.size() + unconfirmed_.size();
      if (there >= kMax) return;
      if (there >= kMaxMessages) {
        record.clear_message();
        record.clear_offset();
      }
      fresh_.push_back(std::move(record));
    }
  }
  // For a report: what came since the last one, and what that one said unless it was confirmed. One report at a time.
  std::vector<v1::BadRecord> Take() {
    MutexLock lock(&mutex_);
    std::move(fresh_.begin(), fresh_.end(), std::back_inserter(unconfirmed_));
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
  std::vector<v1::BadRecord> fresh_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::BadRecord> unconfirmed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SESSION_BAD_RECORDS_H_
