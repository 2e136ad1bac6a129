#include "pipeline/plan/steps.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace penstock::plan {

std::string_view LastBatchName(LastBatch last) {
  switch (last) {
    case LastBatch::kDrop:
      return "DROP";
    case LastBatch::kPad:
      return "PAD";
    case LastBatch::kPartial:
      return "PARTIAL";
  }
  return "";
}

absl::StatusOr<Steps> Steps::Create(uint64_t positions, uint64_t step_size, LastBatch last, uint64_t world_size) {
  if (positions == 0) return absl::InvalidArgumentError("the job's files hold no records");
  if (step_size == 0) return absl::InvalidArgumentError("batch.size is 0; it must be at least 1");
  if (world_size == 0) {
    return absl::InvalidArgumentError("the world size is 0; it must be at least 1");
  }
  if (last > LastBatch::kPartial) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch.last is ", static_cast<int>(last), ", which is no known policy"));
  }
  if (step_size % world_size != 0) {
    return absl::InvalidArgumentError(absl::StrCat("a global batch of ", step_size, " rows cannot be divided among ",
                                                   world_size,
                                                   " ranks; choose a batch.size that is a multiple of the world size"));
  }
  if (last == LastBatch::kPartial && world_size > 1) {
    return absl::InvalidArgumentError(absl::StrCat("batch.last is PARTIAL, which is for one rank only, and there are ",
                                                   world_size,
                                                   "; use PAD (rows past the end are flagged invalid) or DROP"));
  }
  if (last == LastBatch::kDrop && positions < step_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("an epoch has ", positions, " rows, fewer than one global batch of ", step_size,
                     ", and batch.last is DROP: no step would ever come; use PAD, or a smaller batch.size"));
  }
  return Steps(positions, step_size, last, world_size);
}

uint64_t Steps::StepsFrom(uint64_t position) const {
  if (position >= positions_) return 0;
  const uint64_t left = positions_ - position;
  return left / step_size_ + (last_ != LastBatch::kDrop && left % step_size_ != 0 ? 1 : 0);
}

Cursor Steps::Normalized(Cursor cursor) const {
  return StepsFrom(cursor.position) > 0 ? cursor : Cursor{cursor.epoch + 1, 0};
}

StepSpan Steps::StepAt(Cursor cursor) const {
  cursor = Normalized(cursor);
  StepSpan step;
  step.epoch = cursor.epoch;
  step.begin = cursor.position;
  step.valid = std::min(step_size_, positions_ - cursor.position);
  step.rows = last_ == LastBatch::kPartial ? step.valid : step_size_;
  return step;
}

Cursor Steps::After(const StepSpan& step) const { return Normalized({step.epoch, step.begin + step.valid}); }

Cursor Steps::Advance(Cursor cursor, uint64_t steps) const {
  cursor = Normalized(cursor);
  const uint64_t left = StepsFrom(cursor.position);
  if (steps < left) return {cursor.epoch, cursor.position + steps * step_size_};
  steps -= left;
  const uint64_t per_epoch = StepsPerEpoch();
  return {cursor.epoch + 1 + steps / per_epoch, steps % per_epoch * step_size_};
}

uint64_t Steps::StepsBetween(Cursor from, Cursor to) const {
  from = Normalized(from);
  to = Normalized(to);
  if (from.epoch == to.epoch) {
    PS_CHECK(from.position <= to.position);
    return (to.position - from.position) / step_size_;
  }
  PS_CHECK(from.epoch < to.epoch);
  return StepsFrom(from.position) + (to.epoch - from.epoch - 1) * StepsPerEpoch() + to.position / step_size_;
}

SlotRange Steps::Slice(const StepSpan& step, uint64_t rank) const {
  PS_CHECK(rank < world_size_);
  // Under kPartial the single rank has all rows.
  const uint64_t each = step.rows / world_size_;
  return {rank * each, (rank + 1) * each};
}

uint64_t Steps::RankOf(const StepSpan& step, uint64_t slot) const {
  PS_CHECK(slot < step.rows);
  return slot / (step.rows / world_size_);
}

}  // namespace penstock::plan
