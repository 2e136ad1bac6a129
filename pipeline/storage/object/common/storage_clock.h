// The clock of a storage, for signatures: it rejects requests whose time differs from its own.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_STORAGE_CLOCK_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_STORAGE_CLOCK_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "pipeline/storage/object/common/http_client.h"

namespace penstock::storage {

// Thread-safe. Follows this machine's clock until Learn().
class StorageClock {
 public:
  // `now` returns the seconds since 1970 on this machine.
  explicit StorageClock(std::function<int64_t()> now) : now_(std::move(now)) {}

  int64_t Now() const { return now_() + ahead_.load(); }
  // Adjusts to the date of a response. Returns false if that changes little, or if the response has no date.
  bool Learn(const HttpResponse& response);

 private:
  const std::function<int64_t()> now_;
  std::atomic<int64_t> ahead_{0};  // seconds that the storage's clock is ahead of this machine's
};

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_STORAGE_CLOCK_H_
