#include "pipeline/loader/read_ahead/expected_rows.h"

namespace penstock::loader {

bool ExpectedRows::Covers(uint64_t epoch, uint64_t position, uint64_t record) const {
  if (!steps_.has_value() || epoch < start_.epoch || epoch >= end_epoch_) return false;
  if (owned_ != nullptr && owned_->policy() == plan::AssignPolicy::kByRecord) return owned_->Contains(record);
  // In the first epoch, the first step begins at start_, not at position 0.
  const uint64_t first = epoch == start_.epoch ? start_.position : 0;
  if (position < first) return false;
  const plan::StepSpan step = steps_->StepAt({epoch, position - (position - first) % steps_->step_size()});
  if (step.epoch != epoch || position >= step.begin + step.valid) return false;
  const uint64_t slot = steps_->SlotOfPosition(step, position);
  if (!steps_->Slice(step, rank_).Contains(slot)) return false;
  return owned_ == nullptr || owned_->Contains(plan::RankKey(slot, steps_->step_size()));
}

}  // namespace penstock::loader
