// Which worker serves which part of a job: from the live workers and the view before, the next
// view. A pure function.
//
// Each worker's part of the weight (bytes of its records) follows its capacity, within a tolerance,
// and as little as possible changes hands: a worker that stays keeps what it has as far as the
// tolerance allows, what a lost one had goes to the neighbors or, whole, to a newcomer, and a
// newcomer takes from the most loaded. Normally a worker has one contiguous run; a few runs are
// made where that moves far less.
#ifndef PENSTOCK_SERVER_COORDINATOR_ASSIGNMENT_H_
#define PENSTOCK_SERVER_COORDINATOR_ASSIGNMENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/plan/view.h"

namespace penstock {

// How heavy each part of the key space is: piecewise uniform, strictly increasing.
class KeyWeights {
 public:
  // Every key weighs the same: kByRank, with kRankKeySpace.
  static KeyWeights Uniform(uint64_t key_space);
  // kByRecord. records[i] and bytes[i] are those of shard i, in sorted order; the keys are the record
  // numbers. Bytes are taken as spread evenly over a shard's records. The vectors have one size;
  // empty shards are fine.
  static KeyWeights OfShards(const std::vector<uint64_t>& records, const std::vector<uint64_t>& bytes);

  uint64_t key_space() const { return keys_.back(); }
  double total() const { return weights_.back(); }
  // Weight of the keys [0, key). key <= key_space(). O(log shards).
  double Before(uint64_t key) const;
  double Between(uint64_t begin, uint64_t end) const { return Before(end) - Before(begin); }
  // The key nearest to having `weight` before it, within [0, key_space()].
  uint64_t KeyAt(double weight) const;

 private:
  std::vector<uint64_t> keys_{0};  // borders of the parts that are uniform in themselves
  std::vector<double> weights_{0};
};

struct AssignWorker {
  std::string id;          // persistent and unique
  std::string address;     // host:port
  double capacity = 0;     // rows per second, or any unit; 0 is not known yet: the mean of the others
  std::string local = {};  // how processes of its host reach it
};

struct AssignOptions {
  uint64_t term = 0;
  AssignPolicy policy = AssignPolicy::kByRecord;
  // A worker's load may be this far from its ideal, as a fraction, before anything is moved for
  // balance.
  double tolerance = 0.1;
};

// `previous`: the view to be replaced, whose n the new one follows; its key space must be the
// weights' (a job's snapshot does not change). Workers of `previous` that are not in `workers` have
// left. The result does not depend on the order of `workers`. Without workers the view has no
// ranges. InvalidArgument: an id that is empty or twice there, a capacity that is negative or no
// number, another key space or policy than the previous view's.
absl::StatusOr<View> AssignRanges(const std::optional<View>& previous, const std::vector<AssignWorker>& workers,
                                  const KeyWeights& weights, const AssignOptions& options);

// The weight whose owner differs between two views of one key space.
double MovedWeight(const View& before, const View& after, const KeyWeights& weights);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_ASSIGNMENT_H_
