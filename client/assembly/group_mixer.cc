#include "client/assembly/group_mixer.h"

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace penstock::client {

GroupMixer::GroupMixer(const BatchMix& mix, const BatchPlace& place, size_t rows, const Memory& memory)
    : mix_(mix),
      place_(place),
      rows_(rows),
      memory_(memory),
      image_bytes_(mix.plan.tensors.image_elements * batch::DTypeSize(mix.plan.tensors.image)),
      label_bytes_(mix.plan.tensors.classes * batch::DTypeSize(mix.plan.tensors.label)),
      number_bytes_(batch::DTypeSize(mix.plan.label_type)),
      missing_(std::make_unique<std::atomic<uint32_t>[]>(rows / mix.plan.group)),
      valid_(rows),
      masked_(rows) {
  for (size_t group = 0; group < rows / mix.plan.group; ++group) missing_[group] = mix.plan.group;
}

void GroupMixer::RowDone(size_t row, bool valid, bool masked) {
  PS_CHECK(row < rows_);
  valid_[row] = valid && !masked;
  masked_[row] = masked;
  const batch::MixPlan& plan = mix_.plan;
  if (memory_.numbers != nullptr) {
    const int64_t label = batch::LoadInteger(plan.label_type, memory_.numbers + row * number_bytes_);
    batch::WriteSoftLabel(masked ? -1 : label, plan.tensors.classes, plan.smoothing,
                          memory_.labels + row * label_bytes_);
  }
  const size_t group = row / plan.group;
  if (group >= rows_ / plan.group) return;
  // The other threads' writes happened before their own decrements.
  if (missing_[group].fetch_sub(1, std::memory_order_acq_rel) == 1) Mix(group);
}

void GroupMixer::Mix(size_t group) {
  const batch::MixPlan& plan = mix_.plan;
  const size_t first = group * plan.group;
  std::vector<std::byte*> images, labels;
  images.reserve(plan.group);
  labels.reserve(plan.group);
  for (size_t row = first; row < first + plan.group; ++row) {
    if (valid_[row] == 0) return;
    images.push_back(memory_.images + row * image_bytes_);
    labels.push_back(memory_.labels + row * label_bytes_);
  }
  const batch::MixDraw draw = batch::DrawMix(plan.law, mix_.seed, place_.epoch, place_.first_row + first,
                                             plan.tensors.pixels.height, plan.tensors.pixels.width);
  batch::MixGroup(plan.tensors, draw, images, labels);
}

absl::Status GroupMixer::CheckLabels(std::span<const RowId> ids, const std::string& column) const {
  if (memory_.numbers == nullptr) return absl::OkStatus();
  for (size_t row = 0; row < rows_; ++row) {
    const int64_t label = batch::LoadInteger(mix_.plan.label_type, memory_.numbers + row * number_bytes_);
    if (masked_[row] != 0 || (label >= 0 && static_cast<uint64_t>(label) < mix_.plan.tensors.classes)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("column \"", column, "\" of row ", place_.first_row + row, " of epoch ", place_.epoch, " (shard ",
                     ids[row].shard, ", record ", ids[row].record, ") is ", label, ", which is not in [0, ",
                     mix_.plan.tensors.classes,
                     "): give the job's mix the right number of classes, or make the labels soft with one_hot, whose "
                     "errors follow the job's error policy"));
  }
  return absl::OkStatus();
}

}  // namespace penstock::client
