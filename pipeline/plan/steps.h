// From positions to batches: global steps, their slots, and the slices of ranks.
//
// A step is the next G rows from the cursor. Slot s of a step is row `begin + s` of the epoch; rank
// r of R has the slots [r*G/R, (r+1)*G/R), and R divides G. Rows past the epoch's end exist under
// kPad only: row v >= P holds position (v - P) mod P again and is not valid. A row's number (begin
// + slot) names it uniquely in its epoch, padding included, which its position does not.
#ifndef PENSTOCK_PIPELINE_PLAN_STEPS_H_
#define PENSTOCK_PIPELINE_PLAN_STEPS_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace penstock {

// What becomes of the positions at the end of an epoch that do not fill a step.
enum class LastBatch : uint8_t {
  kDrop = 0,     // they are left out
  kPad = 1,      // the step is filled from the epoch's start with rows that are flagged invalid
  kPartial = 2,  // a smaller step; one rank only
};

// "DROP", "PAD", "PARTIAL": as in job files.
std::string_view LastBatchName(LastBatch last);

// A place between two steps. All that a session needs to go on, beside fingerprints.
struct Cursor {
  uint64_t epoch = 0;
  uint64_t position = 0;
  bool operator==(const Cursor&) const = default;
};

// The first epoch that a reader is not going to read, as workers are told it: they may keep what they read in one epoch
// for those that come.
constexpr uint64_t kEndNotKnown = 0;
constexpr uint64_t kWithoutEnd = ~uint64_t{0};
// Of one that begins at `start` and reads so many epochs; 0: without end.
constexpr uint64_t EndEpoch(const Cursor& start, uint64_t epochs) {
  return epochs == 0 || epochs > kWithoutEnd - start.epoch ? kWithoutEnd : start.epoch + epochs;
}

struct StepSpan {
  uint64_t epoch = 0;
  uint64_t begin = 0;  // position of slot 0
  uint64_t rows = 0;   // of the global step: G, or fewer under kPartial
  uint64_t valid = 0;  // the first `valid` slots are real, the rest padding
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

// The steps of a job for one batch size and world size. Immutable, a few words, pure.
class Steps {
 public:
  // positions: of an epoch (EpochPlan::num_positions), the same in every epoch. step_size: rows of
  // the global batch. InvalidArgument names what does not fit: nothing to read, a world size that
  // does not divide the batch, kPartial with several ranks, kDrop with an epoch shorter than one
  // step.
  static absl::StatusOr<Steps> Create(uint64_t positions, uint64_t step_size, LastBatch last, uint64_t world_size);

  uint64_t positions() const { return positions_; }
  uint64_t step_size() const { return step_size_; }
  uint64_t world_size() const { return world_size_; }
  LastBatch last() const { return last_; }

  // Steps of an epoch that begins at `position` (0 is a whole epoch); 0 from its end on.
  uint64_t StepsFrom(uint64_t position) const;
  uint64_t StepsPerEpoch() const { return StepsFrom(0); }
  // Positions of a whole epoch that come in no step: kDrop's, less than a step's.
  uint64_t DroppedPerEpoch() const { return last_ == LastBatch::kDrop ? positions_ % step_size_ : 0; }

  // The cursor itself, or the start of the next epoch when no step of its epoch is left.
  Cursor Normalized(Cursor cursor) const;
  // The step that begins at the (normalized) cursor.
  StepSpan StepAt(Cursor cursor) const;
  // The normalized cursor behind a step.
  Cursor After(const StepSpan& step) const;
  // The cursor `steps` steps further, over epoch ends. O(1).
  Cursor Advance(Cursor cursor, uint64_t steps) const;
  // Steps from `from` until `to`, which must be a cursor that steps from `from` lead to. O(1).
  uint64_t StepsBetween(Cursor from, Cursor to) const;

  // The slots of a rank in a step; rank < world_size().
  SlotRange Slice(const StepSpan& step, uint64_t rank) const;
  // The rank that has a slot. slot < step.rows.
  uint64_t RankOf(const StepSpan& step, uint64_t slot) const;

  // The position that a slot holds, padding included. slot < step.rows.
  uint64_t PositionOfSlot(const StepSpan& step, uint64_t slot) const { return PositionOfRow(step.begin + slot); }
  // The position that row `row` (begin + slot) of an epoch holds.
  uint64_t PositionOfRow(uint64_t row) const { return row < positions_ ? row : (row - positions_) % positions_; }
  // Whether the slot is a real row, not padding.
  bool IsValid(const StepSpan& step, uint64_t slot) const { return slot < step.valid; }
  // The slot of a position that is a real row of the step: begin <= position < begin + valid.
  uint64_t SlotOfPosition(const StepSpan& step, uint64_t position) const { return position - step.begin; }

 private:
  Steps(uint64_t positions, uint64_t step_size, LastBatch last, uint64_t world_size)
      : positions_(positions), step_size_(step_size), last_(last), world_size_(world_size) {}

  uint64_t positions_;
  uint64_t step_size_;
  LastBatch last_;
  uint64_t world_size_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_PLAN_STEPS_H_
