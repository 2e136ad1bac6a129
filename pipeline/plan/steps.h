// Converts positions to batches: global steps, their slots, and the slices of ranks.
//
// An epoch has P positions, and a step has G rows. A step is the next G rows from the cursor. Slot s of a step is row
// `begin + s` of the epoch. Rank r of R has the slots [r*G/R, (r+1)*G/R), and R divides G. Rows past the epoch's end
// exist only under kPad: row v >= P repeats position (v - P) mod P and is not valid. A row's number (begin + slot) is
// unique in its epoch, including padding. Its position is not unique.
#ifndef PENSTOCK_PIPELINE_PLAN_STEPS_H_
#define PENSTOCK_PIPELINE_PLAN_STEPS_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace penstock::plan {

// The treatment of positions at the end of an epoch that do not fill a step.
enum class LastBatch : uint8_t {
  kDrop = 0,     // they are dropped
  kPad = 1,      // rows from the epoch's start fill the step, flagged as invalid
  kPartial = 2,  // a smaller step; one rank only
};

// Returns "DROP", "PAD" or "PARTIAL", as in job files.
std::string_view LastBatchName(LastBatch last);

// A place between two steps. Besides fingerprints, it is all that a session needs to resume.
struct Cursor {
  uint64_t epoch = 0;
  uint64_t position = 0;
  bool operator==(const Cursor&) const = default;
};

// A reader's end epoch is the first epoch that it will not read, or one of these values. Workers receive it to decide
// whether to cache records for later epochs.
constexpr uint64_t kEndNotKnown = 0;
constexpr uint64_t kWithoutEnd = ~uint64_t{0};
// Returns the end epoch of a reader that begins at `start` and reads `epochs` epochs; 0 epochs means without end.
constexpr uint64_t EndEpoch(const Cursor& start, uint64_t epochs) {
  return epochs == 0 || epochs > kWithoutEnd - start.epoch ? kWithoutEnd : start.epoch + epochs;
}

struct StepSpan {
  uint64_t epoch = 0;
  uint64_t begin = 0;  // position of slot 0
  uint64_t rows = 0;   // rows of the global step: G, or fewer under kPartial
  uint64_t valid = 0;  // the first `valid` slots are real rows, the others padding
  bool operator==(const StepSpan&) const = default;
};

// Slots [begin, end) of a step.
struct SlotRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t size() const { return end - begin; }
  bool Contains(uint64_t slot) const { return slot >= begin && slot < end; }
  bool operator==(const SlotRange&) const = default;
};

// The steps of a job for one batch size and world size. Immutable, small, pure.
class Steps {
 public:
  // Creates the steps. `positions` is the number per epoch (EpochPlan::num_positions), the same in every epoch.
  // `step_size` is the number of rows of the global batch. Returns InvalidArgument if
  //   - there are no positions;
  //   - the step size or the world size is 0, or `last` is unknown;
  //   - the world size does not divide the batch;
  //   - kPartial has several ranks;
  //   - kDrop has an epoch shorter than one step.
  static absl::StatusOr<Steps> Create(uint64_t positions, uint64_t step_size, LastBatch last, uint64_t world_size);

  uint64_t positions() const { return positions_; }
  uint64_t step_size() const { return step_size_; }
  uint64_t world_size() const { return world_size_; }
  LastBatch last() const { return last_; }

  // Returns the number of steps from `position` to the end of its epoch. 0 gives a whole epoch. Returns 0 from the
  // epoch's end on.
  uint64_t StepsFrom(uint64_t position) const;
  uint64_t StepsPerEpoch() const { return StepsFrom(0); }
  // Returns the number of positions of a whole epoch that are in no step: less than step_size() under kDrop, otherwise
  // 0.
  uint64_t DroppedPerEpoch() const { return last_ == LastBatch::kDrop ? positions_ % step_size_ : 0; }

  // Returns the cursor, or the start of the next epoch if its epoch has no step left.
  Cursor Normalized(Cursor cursor) const;
  // Returns the step that begins at Normalized(cursor).
  StepSpan StepAt(Cursor cursor) const;
  // Returns the normalized cursor after a step.
  Cursor After(const StepSpan& step) const;
  // Returns the cursor after `steps` more steps, across epoch ends. O(1).
  Cursor Advance(Cursor cursor, uint64_t steps) const;
  // Returns the number of steps from `from` to `to`. `to` must be reachable by steps from `from`. O(1).
  uint64_t StepsBetween(Cursor from, Cursor to) const;

  // Returns the slots of a rank in a step. rank < world_size().
  SlotRange Slice(const StepSpan& step, uint64_t rank) const;
  // Returns the rank that has a slot. slot < step.rows.
  uint64_t RankOf(const StepSpan& step, uint64_t slot) const;

  // Returns the position of the row in a slot, including padding. slot < step.rows.
  uint64_t PositionOfSlot(const StepSpan& step, uint64_t slot) const { return PositionOfRow(step.begin + slot); }
  // Returns the position of row `row` (begin + slot) of an epoch.
  uint64_t PositionOfRow(uint64_t row) const { return row < positions_ ? row : (row - positions_) % positions_; }
  // Returns whether the slot is a real row and not padding.
  bool IsValid(const StepSpan& step, uint64_t slot) const { return slot < step.valid; }
  // Returns the slot of a position of the step. Requires begin <= position < begin + valid.
  uint64_t SlotOfPosition(const StepSpan& step, uint64_t position) const { return position - step.begin; }

 private:
  Steps(uint64_t positions, uint64_t step_size, LastBatch last, uint64_t world_size)
      : positions_(positions), step_size_(step_size), last_(last), world_size_(world_size) {}

  uint64_t positions_;
  uint64_t step_size_;
  LastBatch last_;
  uint64_t world_size_;
};

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_STEPS_H_
