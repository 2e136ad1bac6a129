#include "pipeline/loader/local_steps.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/runtime/clock.h"
#include "base/status_macros.h"
#include "pipeline/loader/row_maker.h"
#include "pipeline/loader/row_slots.h"
#include "pipeline/plan/job_order.h"

namespace penstock::loader {

StepRows::StepRows(std::shared_ptr<const LoadJob> job, size_t rows)
    : job_(std::move(job)),
      rows_(rows),
      fixed_(std::make_unique_for_overwrite<std::byte[]>(rows * job_->fixed_bytes())) {}

std::string_view StepRows::Column(size_t c, size_t i) const {
  const batch::RowSchema& schema = job_->schema();
  if (schema.columns[c].ragged) return rows_[i].ragged[c];
  batch::RowSlot slot;
  PointInto(schema, fixed_.get() + i * job_->fixed_bytes(), &slot);
  return {reinterpret_cast<const char*>(slot.fixed[c]), schema.columns[c].Bytes()};
}

batch::RowSlot StepRows::Book(size_t row) {
  batch::RowSlot slot;
  PointInto(job_->schema(), fixed_.get() + row * job_->fixed_bytes(), &slot);
  return slot;
}

absl::Status StepRows::Put(size_t row, RowResult result) {
  result.bytes.reset();  // the content is in memory of this object
  rows_[row] = std::move(result);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<LocalSteps>> LocalSteps::Open(Loader* loader, std::shared_ptr<const LoadJob> job,
                                                             const LocalStepsOptions& options) {
  const plan::StepSizes sizes = plan::StepSizesOf(job->spec().batch(), job->order().batches(), options.batch_size);
  PS_RETURN_IF_ERROR(job->order().CheckBatchRows(sizes.first));
  PS_ASSIGN_OR_RETURN(
      const plan::Steps steps,
      plan::Steps::Create(job->positions(), sizes, plan::LastBatchOf(job->spec().batch().last()), options.world_size));
  if (options.read.rank >= options.world_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", options.read.rank, " of ", options.world_size, ": ranks are numbered from 0"));
  }
  std::unique_ptr<LocalSteps> local(new LocalSteps);
  const auto make = [job, spare = &local->spare_](const plan::StepSpan&, const plan::SlotRange& slice) {
    while (!spare->empty()) {
      std::unique_ptr<StepTarget> rows = std::move(spare->back());
      spare->pop_back();
      if (static_cast<StepRows&>(*rows).size() == slice.size()) return rows;
    }
    return std::unique_ptr<StepTarget>(std::make_unique<StepRows>(job, slice.size()));
  };
  PS_ASSIGN_OR_RETURN(local->prepared_, PreparedSteps::Open(loader, job, steps, options.read, make));
  return local;
}

absl::StatusOr<std::optional<LocalSteps::Step>> LocalSteps::Next() {
  if (current_.has_value()) spare_.push_back(std::move(current_->target));
  current_.reset();
  absl::StatusOr<std::optional<PreparedStep>> step = absl::DeadlineExceededError("");
  while (absl::IsDeadlineExceeded(step.status())) step = prepared_->Next(kSecond);
  if (!step.ok()) return step.status();
  current_ = *std::move(step);
  if (!current_.has_value()) return std::nullopt;
  return Step{current_->span, current_->slice, static_cast<const StepRows*>(current_->target.get())};
}

}  // namespace penstock::loader
