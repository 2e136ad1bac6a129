// Decides which late requests are sent a second time. Pure: the caller passes times in.
//
// A request is late if it takes much longer than nearly all recent requests to the same storage for about as many
// bytes. A storage that is slow altogether receives no second requests, except if only one request is under way. At
// most one in Options::one_in answered requests is sent twice.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_HEDGE_POLICY_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_HEDGE_POLICY_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>

#include "base/runtime/clock.h"

namespace penstock::storage {

// The policy for one storage.
class HedgePolicy {
 public:
  static constexpr Nanos kNever = INT64_MAX;
  static constexpr size_t kRemembered = 128;  // maximum number of answers remembered per size group (LikeOf)

  struct Options {
    Nanos floor = 200 * kMillisecond;  // no request is late before this
    int times = 2;                     // late: this many times the time in which 19 of 20 requests were answered
    size_t known = 32;                 // answers of a size group that must be known before a request can be late
    uint64_t one_in = 50;              // answers that earn a second request
    uint64_t saved = 4;                // maximum number of earned second requests that are kept
  };

  HedgePolicy() : HedgePolicy(Options()) {}
  explicit HedgePolicy(const Options& options) : options_(options) {}

  // Returns how long after its start a request for `bytes` is late, or kNever if too few answers are known.
  Nanos LateAfter(size_t bytes) const;
  // Returns whether to send a late request that began at `begun` a second time, and counts it if so. `late` of
  // `under_way` requests are late. Both include this one and count the requests to all storages with a policy. If
  // several are under way, returns false unless at most a quarter of them (or one) are late, and this storage has
  // answered a request that began later.
  bool Ask(size_t bytes, Nanos begun, size_t under_way, size_t late);
  // Records that a request was answered, by its first or second try, `took` after it began.
  void Answered(size_t bytes, Nanos begun, Nanos took);

 private:
  struct Like {
    std::deque<Nanos> took;  // the last kRemembered answers
    Nanos nearly_all = 0;    // time within which nearly all of them arrived
    uint64_t earned = 0;     // in answers
  };
  // Groups sizes within a factor of four.
  static int LikeOf(size_t bytes);

  Options options_;
  std::map<int, Like> likes_;
  Nanos newest_ = INT64_MIN;  // latest start of an answered request
};

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_HEDGE_POLICY_H_
