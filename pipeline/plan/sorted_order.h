// The order of groups that follow each other by a value, as a pure function: which group gives a row, and which of its
// rows it is.
//
// A pass over the data set has each group once, from the first to the last. With `batch`, it is then cut into batches,
// and these are shuffled: so a batch has the rows of one group, or of neighbors. If the pass has no whole number of
// batches, the rest is cut out at a place that the pass chooses, and comes last: so `last: DROP` does not always drop
// the greatest values. Batches whose size depends on their values are those of a BatchSequence.
#ifndef PENSTOCK_PIPELINE_PLAN_SORTED_ORDER_H_
#define PENSTOCK_PIPELINE_PLAN_SORTED_ORDER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/plan/batch_limits.h"
#include "pipeline/plan/batch_sequence.h"
#include "pipeline/plan/blend.h"
#include "pipeline/plan/epoch_plan.h"
#include "pipeline/plan/group_map.h"
#include "pipeline/plan/shard_offsets.h"

namespace penstock::plan {

struct SortOptions {
  uint64_t batch = 0;   // not 0: rows of the batches, which are shuffled unless the data set's shuffle is kNone
  uint64_t passes = 0;  // passes that are sorted; each later one is shuffled as a whole; 0: all
  // Set: the size of a batch depends on its values, and is at most `batch`.
  std::optional<BatchRule> rule = {};
};

// Immutable, thread-safe. The same inputs give the same rows in every release with plan version 2.
class SortedOrder {
 public:
  // Creates the order of the groups of a data set, whose shards have `offsets` and which is shuffled by `shuffle`.
  // Returns the errors of EpochPlan::Create() and BatchLimits(), and InvalidArgument without records, or with more than
  // 2^22 batches of different sizes.
  static absl::StatusOr<SortedOrder> Create(std::shared_ptr<const ShardOffsets> offsets,
                                            std::shared_ptr<const GroupMap> groups, const PlanOptions& shuffle,
                                            const SortOptions& options);

  const SortOptions& options() const { return options_; }
  // Returns the batches of each pass if their sizes depend on their values, or null.
  const std::shared_ptr<const BatchSequence>& batches() const { return batches_; }
  // Returns the most rows of a batch with records of each group; empty without batches().
  const std::vector<uint64_t>& limits() const { return limits_; }
  // Returns the row at `place` among the rows of all passes: its group, and its number among all rows of the group. Any
  // place is valid. O(log groups); O(log shards) in passes that are not sorted.
  Blend::Row At(uint64_t place) const;
  // The inverse of At().
  uint64_t PlaceOf(const Blend::Row& row) const;

 private:
  // The batches of a pass.
  struct Batches {
    uint64_t whole = 0;  // their number
    uint64_t rest = 0;   // rows of the batch that is not whole
    uint64_t cut = 0;    // whole batches before the rest, in the order of values
    uint64_t key = 0;    // key of their permutation
  };

  SortedOrder() = default;

  bool IsSorted(uint64_t pass) const { return options_.passes == 0 || pass < options_.passes; }
  EpochPlan WholePass(uint64_t pass) const;
  Batches BatchesOf(uint64_t pass) const;
  // Return the number of a row in the order of values from its number in the pass, and the inverse.
  uint64_t ValuePlace(uint64_t pass, uint64_t place) const;
  uint64_t PassPlace(uint64_t pass, uint64_t place) const;
  uint64_t RowsOf(uint32_t group) const { return begins_[group + 1] - begins_[group]; }

  SortOptions options_;
  PlanOptions shuffle_;  // shuffles a pass that is not sorted
  std::shared_ptr<const ShardOffsets> offsets_;
  std::shared_ptr<const GroupMap> groups_;
  std::vector<uint64_t> begins_;  // the first row of each group in the order of values, and the number of all rows
  std::vector<uint64_t> limits_;  // limits of the rows of a batch, by group
  std::shared_ptr<const BatchSequence> batches_;  // null: all batches have options_.batch rows
};

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_SORTED_ORDER_H_
