// Computes the next view of a job, which assigns its keys to workers, from the live workers and the previous view. This
// is a pure function.
//
// Each worker's part of the weight follows its capacity within a tolerance. As few keys as possible change owners. A
// remaining worker keeps its keys as far as the tolerance permits. The keys of a lost worker go to its neighbors or,
// all together, to a new worker. A new worker takes keys from the most loaded workers. Usually a worker has one
// contiguous run. It has several if that moves far fewer keys.
#ifndef PENSTOCK_SERVER_COORDINATOR_ASSIGNMENT_H_
#define PENSTOCK_SERVER_COORDINATOR_ASSIGNMENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/plan/view.h"

namespace penstock::coordinator {

// The cumulative weight of the keys, which increases strictly. The weight of a key is constant within each part of the
// key space.
class KeyWeights {
 public:
  // Returns equal weights for all keys: kByRank, with kRankKeySpace.
  static KeyWeights Uniform(uint64_t key_space);
  // Returns the weights for kByRecord. records[i] and bytes[i] are the totals of shard i, in sorted order. The keys are
  // the record numbers. The weight of a record is the mean number of bytes of its shard's records, plus 1. Both vectors
  // must have the same size. Shards may be empty.
  static KeyWeights OfShards(const std::vector<uint64_t>& records, const std::vector<uint64_t>& bytes);

  uint64_t key_space() const { return keys_.back(); }
  double total() const { return weights_.back(); }
  // Returns the weight of the keys [0, key). Requires key <= key_space(). O(log shards).
  double Before(uint64_t key) const;
  double Between(uint64_t begin, uint64_t end) const { return Before(end) - Before(begin); }
  // Returns the key in [0, key_space()] for which Before(key) is nearest to `weight`.
  uint64_t KeyAt(double weight) const;

 private:
  std::vector<uint64_t> keys_{0};  // borders of the uniform parts
  std::vector<double> weights_{0};
};

struct AssignWorker {
  std::string id;             // persistent and unique
  std::string address;        // host:port
  double capacity = 0;        // rows per second, or any unit; 0: not known yet, so the mean of the others
  std::string local = {};     // local address for processes of its host
  std::string name = {};      // display name; empty: its id
  std::string tls_name = {};  // name in its certificate; empty: it serves plaintext
};

struct AssignOptions {
  uint64_t term = 0;
  plan::AssignPolicy policy = plan::AssignPolicy::kByRecord;
  // A worker's load may differ from its ideal load by this fraction before keys move for balance.
  double tolerance = 0.1;
};

// Returns the view that replaces `previous`; its n is the next one. The key space of `previous` must be that of the
// weights, because a job's snapshot does not change. Workers of `previous` that are not in `workers` have left. The
// result does not depend on the order of `workers`. Without workers or keys the view has no ranges. Returns
// InvalidArgument for an empty or duplicate id, a negative or non-finite capacity, a tolerance outside [0, 1), or a key
// space or policy that differs from that of the previous view. Returns the error of an invalid previous view.
absl::StatusOr<plan::View> AssignRanges(const std::optional<plan::View>& previous,
                                        const std::vector<AssignWorker>& workers, const KeyWeights& weights,
                                        const AssignOptions& options);

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_ASSIGNMENT_H_
