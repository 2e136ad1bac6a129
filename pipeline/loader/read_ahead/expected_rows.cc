#include "pipeline/loader/read_ahead/expected_rows.h"

namespace penstock::loader {

bool ExpectedRows::Covers(uint64_t epoch, uint64_t position, uint64_t record) const {
  if (!steps_.has_value() || epoch < start_.epoch || epoch >= end_epoch_) return false;
  if (owned_ != nullptr && owned_->policy() == plan::AssignPolicy::kByRecord) return owned_->Contains(record);
  // In the first epoch, the first step begins at start_, not at position 0.
  const uint64_t first = epoch == start_.epoch ? start_.position : 0;
  if (position < first) return false;
  const std::optional<plan::StepSpan> step = steps_->StepWith({epoch, first}, position);
  if (!step.has_value()) return false;
  const uint64_t slot = steps_->SlotOfPosition(*step, position);
  if (!steps_->Slice(*step, rank_).Contains(slot)) return false;
  return owned_ == nullptr || owned_->Contains(plan::RankKey(slot, step->size));
}

}  // namespace penstock::loader
