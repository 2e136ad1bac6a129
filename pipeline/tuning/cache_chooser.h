// How large a loader's caches are to be, from what fits and what pays.
//
//   costs, sizes, records of each job ─▶ seconds that a row takes, for sizes that might be ─▶ the best of these
//                                                        clearly better than what is? ─▶ it
//
// A cache keeps what it has and admits while there is room, so that with room for a part of the data it hits that part,
// and what a row costs follows from the sizes. What is read once is not worth keeping: a job counts from its second
// epoch on. What decoded images take and give is measured on a few of them first.
#ifndef PENSTOCK_PIPELINE_TUNING_CACHE_CHOOSER_H_
#define PENSTOCK_PIPELINE_TUNING_CACHE_CHOOSER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/runtime/clock.h"
#include "pipeline/tuning/cache_sizes.h"

namespace penstock {

// The seconds that a row takes in the mean of all jobs' rows, with caches of these sizes that have filled. 0: no rows.
double SecondsPerRow(const std::vector<CacheJob>& jobs, const CacheSizes& sizes);

// Those sizes that make rows cheapest, a small price for memory included: in all at most `most`, but for what is
// pinned, which stays as in `now`. Where nothing is cheaper it is `now`, if that is within `most`.
CacheSizes BestCacheSizes(const std::vector<CacheJob>& jobs, const CacheLimits& limits, const CacheSizes& now,
                          uint64_t most);

// Not thread-safe. No clock of its own.
class CacheChooser {
 public:
  // Sizes change only where rows are to take less by this part.
  static constexpr double kClearGain = 0.05;

  explicit CacheChooser(const CacheLimits& limits) : limits_(limits) {}

  // What was counted since the last call, the sizes there are, and what all caches may take together. Returns the sizes
  // that are to be: within `most`, and within limits.first.sum() whatever `most` is.
  CacheSizes Step(const std::vector<CacheJob>& jobs, const CacheSizes& now, uint64_t most, Nanos time);

  // What became of the last change, in words, once: "caches: decoded 0 -> 1200 MiB: a row takes 1.30 ms, then 0.55".
  // Nothing of images that were decoded to be measured.
  std::optional<std::string> TakeNews();

 private:
  // A size for the decoded images that are still to be measured; nothing where there are none.
  std::optional<CacheSizes> Probe(const std::vector<CacheJob>& jobs, const CacheSizes& now, uint64_t most);
  CacheSizes Change(const std::vector<CacheJob>& jobs, const CacheSizes& from, const CacheSizes& to, Nanos time);

  const CacheLimits limits_;
  std::set<uint64_t> jobs_;           // that the sizes were chosen for
  std::map<uint64_t, int> probes_;    // by job: how often its decoded images were looked for
  bool probing_ = false;              // decoded images are there to be measured alone
  Nanos not_before_ = 0, pause_ = 0;  // of the next change
  std::optional<std::string> news_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_TUNING_CACHE_CHOOSER_H_
