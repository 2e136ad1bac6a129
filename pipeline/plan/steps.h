// Converts positions to batches: global steps, their slots, and the slices of ranks.
//
// An epoch has P positions, and a step has G rows. A step is the next G rows from the cursor. G may change with the
// rows that the run had before the step: its size is that of the last change at or before epoch * P + position. Slot s
// of a step is row `begin + s` of the epoch. Rank r of R has the slots [r*G/R, (r+1)*G/R), and R divides G. Rows past
// the epoch's end exist only under kPad: row v >= P repeats position (v - P) mod P and is not valid. A row's number
// (begin + slot) is unique in its epoch, including padding. Its position is not unique.
//
// With StepSizes::batches, the steps are these batches. A step that begins inside a batch is the rest of it.
#ifndef PENSTOCK_PIPELINE_PLAN_STEPS_H_
#define PENSTOCK_PIPELINE_PLAN_STEPS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/plan/batch_sequence.h"

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
  uint64_t size = 0;   // G
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

// A later size of steps.
struct SizeChange {
  uint64_t at_rows = 0;  // epoch * positions + position of the first row that may begin such a step
  uint64_t size = 0;
  bool operator==(const SizeChange&) const = default;
};

// The rows of the global batch, over a run.
struct StepSizes {
  static constexpr size_t kMostChanges = 64;

  StepSizes(uint64_t size) : first(size) {}  // NOLINT: a size is the simple case of sizes
  StepSizes(uint64_t size, std::vector<SizeChange> later) : first(size), changes(std::move(later)) {}

  // Returns the size of a step before which the run has had `rows` rows.
  uint64_t At(unsigned __int128 rows) const;
  uint64_t Largest() const;

  uint64_t first = 0;
  std::vector<SizeChange> changes;  // ascending at_rows
  // Not null: the batches of each epoch, of at most `first` rows. Goes without changes.
  std::shared_ptr<const BatchSequence> batches;
};

// The steps of a job for one world size and the sizes of its batches. Immutable, small, pure. A call takes time in the
// number of changes.
class Steps {
 public:
  // Creates the steps. `positions` is the number per epoch (EpochPlan::num_positions), the same in every epoch. Returns
  // InvalidArgument if
  //   - there are no positions;
  //   - a size or the world size is 0, or `last` is unknown;
  //   - the world size does not divide a size, or the multiple of all batches;
  //   - the changes are no ascending rows, or more than kMostChanges;
  //   - kPartial has several ranks;
  //   - kDrop has an epoch shorter than one step.
  static absl::StatusOr<Steps> Create(uint64_t positions, StepSizes sizes, LastBatch last, uint64_t world_size);

  uint64_t positions() const { return positions_; }
  uint64_t world_size() const { return world_size_; }
  LastBatch last() const { return last_; }
  const StepSizes& sizes() const { return sizes_; }
  // Returns the rows of the largest step.
  uint64_t largest() const { return largest_; }
  // Returns G of a step that begins at the cursor.
  uint64_t SizeAt(Cursor cursor) const;

  // Returns the number of steps from the cursor to the end of its epoch. Returns 0 from the epoch's end on.
  uint64_t StepsFrom(Cursor cursor) const;
  // Returns the number of steps of a whole epoch.
  uint64_t StepsOf(uint64_t epoch) const { return StepsFrom({epoch, 0}); }
  // Returns the number of positions of a whole epoch that are in no step: less than a step under kDrop, otherwise 0.
  uint64_t DroppedOf(uint64_t epoch) const;
  // Returns the number of steps of the epoch before the cursor, rounded up. A resume with these sizes does not change
  // it.
  uint64_t NumberAt(Cursor cursor) const;

  // Returns the cursor, or the start of the next epoch if its epoch has no step left.
  Cursor Normalized(Cursor cursor) const;
  // Returns the step that begins at Normalized(cursor).
  StepSpan StepAt(Cursor cursor) const;
  // Returns the normalized cursor after a step.
  Cursor After(const StepSpan& step) const;
  // Returns the cursor after `steps` more steps, across epoch ends.
  Cursor Advance(Cursor cursor, uint64_t steps) const;
  // Returns the number of steps from `from` to `to`. `to` must be reachable by steps from `from`.
  uint64_t StepsBetween(Cursor from, Cursor to) const;
  // Returns the step of the same epoch that has `position`, if steps begin at `from`, or nullopt if none has it.
  // Requires from.position <= position.
  std::optional<StepSpan> StepWith(Cursor from, uint64_t position) const;

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
  // Consecutive steps of one size, which begin before the size changes, and in one epoch.
  struct Run {
    uint64_t size = 0;
    uint64_t steps = 0;  // 0: the epoch has no further step
    uint64_t rows() const { return size * steps; }
  };

  Steps(uint64_t positions, StepSizes sizes, LastBatch last, uint64_t world_size);

  // Returns the run that begins at the cursor.
  Run RunAt(Cursor cursor) const;
  // Returns the batch that has the cursor's position. Requires sizes().batches and a position of the epoch.
  BatchSequence::Batch BatchAt(Cursor cursor) const;
  // Returns the number of steps of each epoch. Requires sizes().batches.
  uint64_t BatchesOfEpoch() const;
  // Returns the number of epochs from `epoch` on in which no size changes.
  uint64_t EpochsWithoutChange(uint64_t epoch) const;
  // Returns the first change after the cursor, or null.
  const SizeChange* ChangeAfter(Cursor cursor) const;

  uint64_t positions_;
  StepSizes sizes_;
  uint64_t largest_;
  LastBatch last_;
  uint64_t world_size_;
};

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_STEPS_H_
