// Counts of the requests to one kind of object storage, by outcome, and their time.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_REQUEST_COUNTS_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_REQUEST_COUNTS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/runtime/clock.h"
#include "pipeline/storage/object/common/object_dialect.h"

namespace penstock::storage {

enum class RequestOutcome : uint8_t {
  kOk,
  kMissing,      // no such object
  kRenewed,      // retried at once with a new key, another region or a corrected clock
  kDenied,       // no keys could be had, or the storage rejected them
  kUnavailable,  // errors that may pass: the storage is down, throttles or breaks connections
  kFailed,       // other errors
};
inline constexpr size_t kRequestOutcomes = 6;
// Returns "ok", "missing", "renewed", "denied", "unavailable" or "failed".
std::string_view NameOf(RequestOutcome outcome);
// Returns the outcome of a request that failed, and was not retried with a new key.
RequestOutcome OutcomeOf(const ObjectError& error);

// Thread-safe.
class RequestCounts {
 public:
  struct Sums {
    std::array<uint64_t, kRequestOutcomes> outcomes = {};
    double seconds = 0;  // sum over all requests, from the request to its end
  };

  // Counts a request that ended `took` after it was sent, or 0 if it was not sent.
  void Count(RequestOutcome outcome, Nanos took);
  Sums Get() const;

 private:
  std::array<std::atomic<uint64_t>, kRequestOutcomes> outcomes_ = {};
  std::atomic<int64_t> nanos_{0};
};

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_REQUEST_COUNTS_H_
