// The clock of a storage. Signatures need it: a storage rejects requests whose time differs too much from its own.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_STORAGE_CLOCK_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_STORAGE_CLOCK_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "pipeline/storage/object/common/http_client.h"

namespace penstock::storage {

// Thread-safe. Equals this machine's clock until Learn() adjusts it.
class StorageClock {
 public:
  // `now` returns the seconds since 1970 on this machine.
  explicit StorageClock(std::function<int64_t()> now) : now_(std::move(now)) {}

  // Returns the seconds since 1970 on the storage's clock.
  int64_t Now() const { return now_() + ahead_.load(); }
  // Adjusts the clock to the date of a response, if it differs from Now() by at least a minute. Returns whether it did.
  bool Learn(const HttpResponse& response);

 private:
  const std::function<int64_t()> now_;
  std::atomic<int64_t> ahead_{0};  // seconds that the storage's clock is ahead of this machine's
};

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_STORAGE_CLOCK_H_
