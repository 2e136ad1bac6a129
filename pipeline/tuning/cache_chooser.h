// Chooses the sizes of a loader's caches: those within the memory that give the least time per row.
//
//   costs, sizes, records of each job ─▶ seconds per row for candidate sizes ─▶ the best candidate
//                                              clearly better than the current sizes? ─▶ use it
//
// A cache keeps its entries and admits more while there is room. With room for a part of the data it hits that part, so
// the cost of a row follows from the sizes. Caching data that is read only once has no benefit, so only jobs that will
// read their records again count. Before the chooser sizes the cache of decoded images, it measures their size and
// benefit on a few of them.
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

namespace penstock::tuning {

// Returns the mean thread seconds per row over all jobs once caches of these sizes have filled. Returns 0 if there are
// no rows.
double SecondsPerRow(const std::vector<CacheJob>& jobs, const CacheSizes& sizes);

// Returns the sizes with the cheapest rows, including a small price for memory. Their sum is at most `most`, except
// that pinned sizes stay as in `now`. The result differs from `now` only if other sizes are cheaper, `now` exceeds
// `most`, or a cache that holds all its data can get spare room.
CacheSizes BestCacheSizes(const std::vector<CacheJob>& jobs, const CacheLimits& limits, const CacheSizes& now,
                          uint64_t most);

// Not thread-safe. Uses no clock of its own.
class CacheChooser {
 public:
  // The minimum relative gain that justifies a change.
  static constexpr double kClearGain = 0.05;

  explicit CacheChooser(const CacheLimits& limits) : limits_(limits) {}

  // Takes the counters since the last call, the current sizes, and the maximum for all caches together. Returns the new
  // sizes. Their sum is at most the larger of `most` and limits.first.sum().
  CacheSizes Step(const std::vector<CacheJob>& jobs, const CacheSizes& now, uint64_t most, Nanos time);

  // Returns the last change and its expected effect as text, once: "caches: decoded 0 -> 1200 MiB: a row takes 1.3 ms
  // of a thread, 0.55 when they have filled". Measurements of decoded images and returns to the initial sizes are not
  // reported.
  std::optional<std::string> TakeNews();

 private:
  // Returns sizes that allow decoded images to be measured. Returns nullopt if no measurement is missing, or if the
  // attempts are used up, the size is pinned, or the sizes exceed `most`.
  std::optional<CacheSizes> Probe(const std::vector<CacheJob>& jobs, const CacheSizes& now, uint64_t most);
  CacheSizes Change(const std::vector<CacheJob>& jobs, const CacheSizes& from, const CacheSizes& to, Nanos time);

  const CacheLimits limits_;
  std::set<uint64_t> jobs_;           // the jobs that the sizes were chosen for
  std::map<uint64_t, int> probes_;    // by job: number of attempts to measure its decoded images
  bool probing_ = false;              // the cache of decoded images exists only for a measurement
  Nanos not_before_ = 0, pause_ = 0;  // earliest time of the next change, and the wait after it
  std::optional<std::string> news_;
};

}  // namespace penstock::tuning

#endif  // PENSTOCK_PIPELINE_TUNING_CACHE_CHOOSER_H_
