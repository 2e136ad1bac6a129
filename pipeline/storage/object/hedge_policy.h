// Which requests that are late are asked a second time. Pure: times are passed in.
//
// Late is what takes longer than nearly all of its like took: of requests to the same storage for about as many bytes,
// lately. A storage that is slow altogether is not asked twice, and of the answers that came at most one in so many
// was.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_HEDGE_POLICY_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_HEDGE_POLICY_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>

#include "base/runtime/clock.h"

namespace penstock {

// Of one storage.
class HedgePolicy {
 public:
  static constexpr Nanos kNever = INT64_MAX;
  static constexpr size_t kRemembered = 128;  // answers of a size

  struct Options {
    Nanos floor = 200 * kMillisecond;  // sooner nothing is late
    int times = 2;                     // what all but one in 20 took, so many times
    size_t known = 32;                 // answers, before their like can be late
    uint64_t one_in = 50;              // answers earn a second request
    uint64_t saved = 4;                // of those that may come at once, when none was needed for long
  };

  HedgePolicy() : HedgePolicy(Options()) {}
  explicit HedgePolicy(const Options& options) : options_(options) {}

  // When a request for so many bytes is late, from its begin; kNever: it is not known yet.
  Nanos LateAfter(size_t bytes) const;
  // Whether one that began then and is late is asked again: then it is counted as that. Of `under_way` requests, it
  // included, `late` are late.
  bool Ask(size_t bytes, Nanos begun, size_t under_way, size_t late);
  // It has its answer, from the first request or the second, so long after it began.
  void Answered(size_t bytes, Nanos begun, Nanos took);

 private:
  struct Like {
    std::deque<Nanos> took;  // the last ones
    Nanos nearly_all = 0;    // of them took at most this
    uint64_t earned = 0;     // in answers
  };
  // Sizes within a factor of four.
  static int LikeOf(size_t bytes);

  Options options_;
  std::map<int, Like> likes_;
  Nanos newest_ = INT64_MIN;  // of those that were answered, when the last one began
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_HEDGE_POLICY_H_
