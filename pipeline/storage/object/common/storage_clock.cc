#include "pipeline/storage/object/common/storage_clock.h"

#include <cstdlib>

#include "absl/time/time.h"
#include "pipeline/storage/object/common/object_dialect.h"

namespace penstock::storage {
namespace {

constexpr int64_t kSmallSkew = 60;  // seconds; S3 and Azure allow 15 minutes

}  // namespace

bool StorageClock::Learn(const HttpResponse& response) {
  absl::Time date;
  if (!absl::ParseTime("%a, %d %b %Y %H:%M:%S GMT", HeaderOf(response, "date"), &date, nullptr)) return false;
  const int64_t ahead = absl::ToUnixSeconds(date) - now_();
  if (std::abs(ahead - ahead_.load()) < kSmallSkew) return false;
  ahead_.store(ahead);
  return true;
}

}  // namespace penstock::storage
