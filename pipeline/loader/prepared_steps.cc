#include "pipeline/loader/prepared_steps.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace penstock::loader {

absl::StatusOr<std::unique_ptr<PreparedSteps>> PreparedSteps::Open(Loader* loader, std::shared_ptr<const LoadJob> job,
                                                                   const plan::Steps& steps,
                                                                   const PreparedStepsOptions& options,
                                                                   MakeTarget make_target) {
  PS_RETURN_IF_ERROR(CheckFixedBytes(job->fixed_bytes()));
  LoaderSessionOptions session;
  session.largest_step_rows = static_cast<uint32_t>(steps.largest() / steps.world_size());
  session.weight = std::max<uint32_t>(job->spec().weight(), 1);
  session.books_slots = true;
  session.end_epoch = plan::EndEpoch(options.start, options.epochs);
  session.expected = ExpectedRows(steps, options.rank, options.start, session.end_epoch);
  session.rank = options.rank;
  session.world_size = steps.world_size();
  std::unique_ptr<PreparedSteps> prepared(new PreparedSteps(steps, options, std::move(make_target)));
  PS_ASSIGN_OR_RETURN(prepared->session_, loader->OpenSession(std::move(job), session, prepared.get()));
  prepared->Fill();
  return prepared;
}

PreparedSteps::~PreparedSteps() { session_.reset(); }

void PreparedSteps::Fill() {
  size_t under_way = 0;
  {
    MutexLock lock(&mutex_);
    under_way = pending_.size();
  }
  while (under_way < std::max<uint32_t>(options_.prefetch_steps, 1) && RequestStep()) ++under_way;
}

bool PreparedSteps::RequestStep() {
  if (options_.epochs > 0 && next_.epoch >= options_.start.epoch + options_.epochs) return false;
  const plan::StepSpan span = steps_.StepAt(next_);
  const plan::SlotRange slice = steps_.Slice(span, options_.rank);
  std::unique_ptr<StepTarget> target = make_target_(span, slice);
  if (target == nullptr) return false;
  auto pending = std::make_unique<Pending>();
  pending->step = PreparedStep{span, slice, std::move(target)};
  pending->missing = slice.size();
  std::vector<RowRequest> rows(slice.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].epoch = span.epoch;
    rows[i].position = steps_.PositionOfSlot(span, slice.begin + i);
    rows[i].step = requested_;
    rows[i].tag = i;
  }
  {
    MutexLock lock(&mutex_);
    pending_.push_back(std::move(pending));
  }
  ++requested_;
  next_ = steps_.After(span);
  session_->Request(rows);
  return true;
}

absl::StatusOr<std::optional<PreparedStep>> PreparedSteps::Next(Nanos timeout) {
  if (!failure_.ok()) return failure_;
  Fill();
  const Nanos deadline = options_.clock->Now() + timeout;
  std::unique_ptr<Pending> done;
  {
    MutexLock lock(&mutex_);
    if (cancelled_) return absl::CancelledError("reading was cancelled");
    if (pending_.empty()) {
      if (options_.epochs > 0 && next_.epoch >= options_.start.epoch + options_.epochs) {
        return std::optional<PreparedStep>();
      }
      const plan::SlotRange slice = steps_.Slice(steps_.StepAt(next_), options_.rank);
      return absl::ResourceExhaustedError(absl::StrCat("no memory for a batch of ", slice.size(), " rows"));
    }
    session_->SetHead(first_step_);
    while (pending_.front()->missing > 0 && !cancelled_) {
      const Nanos left = deadline - options_.clock->Now();
      if (left <= 0) {
        const Pending& head = *pending_.front();
        return absl::DeadlineExceededError(absl::StrCat(head.missing, " of ", head.step.slice.size(),
                                                        " rows are not made yet of the step at position ",
                                                        head.step.span.begin, " of epoch ", head.step.span.epoch));
      }
      arrived_.WaitFor(&mutex_, std::chrono::nanoseconds(left));
    }
    if (cancelled_) return absl::CancelledError("reading was cancelled");
    done = std::move(pending_.front());
    pending_.pop_front();
    ++first_step_;
  }
  if (!done->failure.ok()) {
    failure_ = done->failure;
    return failure_;
  }
  Fill();
  return std::optional<PreparedStep>(std::move(done->step));
}

void PreparedSteps::Cancel() {
  MutexLock lock(&mutex_);
  cancelled_ = true;
  arrived_.NotifyAll();
}

uint64_t PreparedSteps::ready_steps() const {
  MutexLock lock(&mutex_);
  return static_cast<uint64_t>(
      std::count_if(pending_.begin(), pending_.end(), [](const auto& pending) { return pending->missing == 0; }));
}

// This row is still missing, so its step is still in pending_.
PreparedSteps::Pending* PreparedSteps::Find(const RowRequest& request) {
  MutexLock lock(&mutex_);
  return pending_[request.step - first_step_].get();
}

batch::RowSlot PreparedSteps::Book(const RowRequest& request) { return Find(request)->step.target->Book(request.tag); }

void PreparedSteps::OnRow(RowResult row) {
  Pending* const pending = Find(row.request);
  const size_t slot = row.request.tag;
  absl::Status status = row.status;
  if (status.ok()) status = pending->step.target->Put(slot, std::move(row));
  MutexLock lock(&mutex_);
  // Report the failure of the first slot, so that each run returns the same error.
  if (!status.ok() && slot <= pending->failed_slot) {
    pending->failed_slot = slot;
    pending->failure = std::move(status);
  }
  if (--pending->missing == 0) arrived_.NotifyAll();
}

}  // namespace penstock::loader
