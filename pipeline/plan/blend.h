// The shares of data sets in a blend, as a pure function: which data set gives a row, and which of its rows it is.
//
// Weights become whole numbers of rows in a block: 65,536 rows, or up to 2^20 if a share is smaller than 1 / 65,536.
// Each block has these numbers. Inside a block, the sets follow each other by the rule of Tijdeman ("The chairman
// assignment problem", Discrete Mathematics 32, 1980): of the sets that lag behind their share, the one whose row is
// due first is next. So after any number of rows, each set is less than one row from its share. Then each run of 64
// rows is shuffled. The rows of a set stay in their order.
//
// A block may also be an epoch or a batch. A batch has one or more equal periods, the shortest parts in which all sets
// have whole numbers of rows, and no run crosses their borders: so all periods of all batches have the same numbers.
#ifndef PENSTOCK_PIPELINE_PLAN_BLEND_H_
#define PENSTOCK_PIPELINE_PLAN_BLEND_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace penstock::plan {

// Immutable, thread-safe. Takes 10 bytes for each row of a block. The same inputs give the same blend in every
// release with plan version 2.
class Blend {
 public:
  static constexpr size_t kMaxSets = 16384;
  static constexpr uint64_t kRun = 64;              // rows that are shuffled together
  static constexpr uint64_t kLeastBlock = 1 << 16;  // rows
  static constexpr uint64_t kLargestBlock = 1 << 20;

  struct Row {
    uint32_t set = 0;
    uint64_t number = 0;  // among all rows of the set, from row 0 of the blend on

    bool operator==(const Row&) const = default;
  };

  // The rows of a block, if they do not follow from the shares.
  struct Block {
    uint64_t rows = 0;      // at most kLargestBlock; 0: they follow from the shares
    bool is_batch = false;  // it has periods
  };

  // Creates the blend of weights.size() data sets. Without `seed`, runs are not shuffled. A set of weight 0 has no
  // rows. Returns InvalidArgument, with the number of the set, if a weight is negative or no number, or if a share is
  // smaller than a row of the block, or of the largest possible one. Returns it also if no weight is positive, or if
  // there are more than kMaxSets sets.
  static absl::StatusOr<Blend> Create(std::span<const double> weights, std::optional<uint64_t> seed, Block wanted);
  static absl::StatusOr<Blend> Create(std::span<const double> weights, std::optional<uint64_t> seed) {
    return Create(weights, seed, Block());
  }

  size_t sets() const { return begins_.size() - 1; }
  uint64_t block_rows() const { return set_.size(); }
  // Returns the rows of a period: block_rows() unless a block is a batch.
  uint64_t period_rows() const { return period_; }
  // Returns the set's rows in each block. set < sets().
  uint64_t count(size_t set) const { return begins_[set + 1] - begins_[set]; }

  // Returns the row at `place` of the blend. Any place is valid. O(1).
  Row At(uint64_t place) const;
  // The inverse of At(), or kNever for a set without rows. O(1).
  static constexpr uint64_t kNever = uint64_t{1} << 63;
  uint64_t PlaceOf(const Row& row) const;
  // Returns the number of rows of a set in the places below `place`. O(log block).
  uint64_t RowsBefore(size_t set, uint64_t place) const;
  // Returns the same for each set. O(sets log block).
  std::vector<uint64_t> RowsBefore(uint64_t place) const;

 private:
  using Run = std::array<uint8_t, kRun>;

  Blend() = default;

  // A place, by its run.
  struct RunPlace {
    uint64_t run = 0;         // number of the run, in all blocks
    uint64_t rows = 0;        // kRun, or fewer at the end of a period
    uint64_t first_slot = 0;  // the run's, in its block
    uint64_t at = 0;          // in the run
  };
  RunPlace RunOf(uint64_t place) const;
  // Returns the places of a run's rows before the shuffle, in the order after it. Only the first `places` are right.
  Run OrderOf(const RunPlace& run, uint64_t places) const;
  // Returns the number, in the block, of the set's first row from `first_slot` on. `slot`, in the same run, is the
  // set's.
  uint64_t NumberAt(uint16_t set, uint64_t first_slot, uint64_t slot) const;
  // Returns the set's rows in the places before the run that `place` is in.
  uint64_t RowsBeforeRun(size_t set, uint64_t place) const;

  std::optional<uint64_t> seed_;
  uint64_t period_ = 0;
  std::vector<uint16_t> set_;      // the set of each slot of a block
  std::vector<uint32_t> numbers_;  // the number of each slot's row in its set and block
  std::vector<uint64_t> begins_;   // first index of each set in slots_
  std::vector<uint32_t> slots_;    // the slots of each set, ascending
};

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_BLEND_H_
