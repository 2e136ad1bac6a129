// Chooses the sizes of a loader's caches while it runs: passes its counters to pipeline/tuning and applies the result.
#ifndef PENSTOCK_PIPELINE_LOADER_CACHE_TUNING_H_
#define PENSTOCK_PIPELINE_LOADER_CACHE_TUNING_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/runtime/clock.h"
#include "pipeline/loader/loader.h"
#include "pipeline/tuning/cache_chooser.h"

namespace penstock::loader {

// Not thread-safe.
class CacheTuning {
 public:
  // Interval between looks: a pass over the possible sizes takes a millisecond.
  static constexpr Nanos kLookInterval = kSecond;

  // The loader must outlive this.
  explicit CacheTuning(Loader* loader) : loader_(loader), limits_(loader->TakeCacheUse().limits), chooser_(limits_) {}

  bool pinned() const { return limits_.all_pinned(); }
  // Adjusts the sizes if kLookInterval has passed since the last look. Call it regularly. Returns a description of a
  // change, or nullopt.
  std::optional<std::string> Look(Nanos now);

 private:
  Loader* const loader_;
  const tuning::CacheLimits limits_;
  tuning::CacheChooser chooser_;
  Nanos next_ = 0;
  double rows_peak_ = 0;             // peak of the bytes of rows; decays with each look
  std::map<uint64_t, double> rows_;  // rows of each job at the last look, by job ID
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_CACHE_TUNING_H_
