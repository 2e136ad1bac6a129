// Chooses the sizes of a loader's caches while it runs: its counters to pipeline/tuning, and what comes of that back.
#ifndef PENSTOCK_PIPELINE_LOADER_CACHE_TUNING_H_
#define PENSTOCK_PIPELINE_LOADER_CACHE_TUNING_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/runtime/clock.h"
#include "pipeline/loader/loader.h"
#include "pipeline/tuning/cache_chooser.h"

namespace penstock {

// Not thread-safe.
class CacheTuning {
 public:
  // Looks are so far apart: a pass over the sizes there might be takes a millisecond.
  static constexpr Nanos kLookInterval = kSecond;

  // The loader outlives this.
  explicit CacheTuning(Loader* loader) : loader_(loader), limits_(loader->TakeCacheUse().limits), chooser_(limits_) {}

  bool pinned() const { return limits_.all_pinned(); }
  // To be called now and then. What has changed, in words.
  std::optional<std::string> Look(Nanos now);

 private:
  Loader* const loader_;
  const CacheLimits limits_;
  CacheChooser chooser_;
  Nanos next_ = 0;
  double rows_peak_ = 0;             // of late
  std::map<uint64_t, double> rows_;  // of each job, at the last look
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_CACHE_TUNING_H_
