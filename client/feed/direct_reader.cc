#include "client/feed/direct_reader.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "client/assembly/batch_changes.h"
#include "client/assembly/batch_memory.h"
#include "client/assembly/dataset_counts.h"
#include "client/session/open.h"
#include "client/session/start_checks.h"
#include "pipeline/loader/prepared_steps.h"
#include "pipeline/plan/job_order.h"

namespace penstock::feed {
namespace {

// Number of batches that the trainer holds, in addition to the window: see SessionOptions::max_free_bytes.
constexpr uint64_t kInHand = 2;
constexpr size_t kFileErrorLines = 4, kFileErrorBytes = 512;

// The rows of one step, in a batch.
class BatchTarget final : public loader::StepTarget {
 public:
  BatchTarget(const LoadedJob& job, const plan::Steps& steps, const plan::StepSpan& span, const plan::SlotRange& slice,
              std::shared_ptr<BatchBuilder> builder)
      : job_(job),
        steps_(steps),
        span_(span),
        slice_(slice),
        builder_(std::move(builder)),
        ids_(slice.size()),
        sources_(slice.size()),
        sets_(slice.size()),
        valid_(slice.size()) {}

  batch::RowSlot Book(size_t row) override { return builder_->SlotOf(row); }

  absl::Status Put(size_t row, loader::RowResult result) override {
    const plan::DataOrder& order = job_.job->order();
    ids_[row] = IdOf(order, result.record_id, result.number);
    sources_[row] = result.masked ? ids_[row] : IdOf(order, result.source_record, result.source_number);
    sets_[row] = static_cast<int32_t>(order.SetOfRecord(result.record_id));
    const bool real = steps_.IsValid(span_, slice_.begin + row);  // not padding
    valid_[row] = !result.masked && real;
    if (result.masked) {
      masked_ += real;
      builder_->WriteMasked(row);
    } else {
      substituted_ += result.substituted && real;
      builder_->PutRagged(row, std::move(result.ragged));
    }
    builder_->RowDone(row, valid_[row] != 0);
    if (!result.masked && !result.substituted) return absl::OkStatus();
    return job_.bad_records->Add(result.record_id, job_.job->reader());
  }

  absl::StatusOr<Batch> Finish(uint64_t step) {
    const bool named = job_.job->order().has_names();
    PS_RETURN_IF_ERROR(builder_->Seal(ids_, valid_, sources_ == ids_ ? std::vector<RowId>() : sources_,
                                      named ? sets_ : std::vector<int32_t>()));
    return builder_->Finish(span_.epoch, step, span_.begin);
  }

  uint64_t masked() const { return masked_; }
  uint64_t substituted() const { return substituted_; }

 private:
  // `number` is the record's number in its shard if the job selects records.
  static RowId IdOf(const plan::DataOrder& order, uint64_t record, std::optional<uint64_t> number) {
    const plan::SetLocation at = order.Locate(record);
    return {static_cast<int64_t>(at.shard), static_cast<int64_t>(number.value_or(at.record))};
  }

  const LoadedJob& job_;
  const plan::Steps& steps_;
  const plan::StepSpan span_;
  const plan::SlotRange slice_;
  const std::shared_ptr<BatchBuilder> builder_;
  std::vector<RowId> ids_, sources_;
  std::vector<int32_t> sets_;
  std::vector<uint8_t> valid_;
  std::atomic<uint64_t> masked_{0}, substituted_{0};
};

class DirectReader final : public Reader {
 public:
  DirectReader(std::shared_ptr<const LoadedJob> job, const plan::Steps& steps, plan::Cursor start, Allocator* allocator,
               size_t max_free_bytes)
      : job_(std::move(job)),
        steps_(steps),
        memory_(std::make_shared<client::BatchMemory>(allocator, max_free_bytes)),
        cursor_(start),
        datasets_(job_->job->order().shared_from_this()) {}

  ~DirectReader() override {
    prepared_.reset();
    memory_->Close();
  }

  absl::Status Start(loader::Loader* loader, const loader::PreparedStepsOptions& options) {
    PS_ASSIGN_OR_RETURN(
        prepared_,
        loader::PreparedSteps::Open(
            loader, job_->job, steps_, options,
            [this](const plan::StepSpan& span, const plan::SlotRange& slice) -> std::unique_ptr<loader::StepTarget> {
              std::shared_ptr<BatchBuilder> builder =
                  BatchBuilder::Create(job_->format, slice.size(), memory_, {span.epoch, span.begin + slice.begin});
              if (builder == nullptr) return nullptr;
              return std::make_unique<BatchTarget>(*job_, steps_, span, slice, std::move(builder));
            }));
    return absl::OkStatus();
  }

  absl::StatusOr<Batch> Next(absl::Duration timeout) override {
    const Nanos began = Clock::Real()->Now();
    {
      MutexLock lock(&mutex_);
      waiting_since_ = began;
    }
    const Nanos longest = absl::ToInt64Nanoseconds(std::clamp(timeout, absl::ZeroDuration(), absl::Hours(87600)));
    absl::StatusOr<Batch> batch = failure_.ok() ? NextBatch(longest) : failure_;
    MutexLock lock(&mutex_);
    waiting_since_.reset();
    const absl::Duration waited = absl::Nanoseconds(Clock::Real()->Now() - began);
    stats_.waited += waited;
    // The wait for a batch may span several calls.
    this_wait_ += waited;
    if (batch.ok()) {
      if (stats_.batches == 0) {
        stats_.first_batch_wait = this_wait_;
      } else {
        stats_.longest_wait = std::max(stats_.longest_wait, this_wait_);
      }
      this_wait_ = absl::ZeroDuration();
      ++stats_.batches;
      stats_.rows += batch->rows();
      datasets_.Add(batch->datasets());
      cursor_ = after_;
    }
    status_ = absl::IsOutOfRange(batch.status()) ? absl::OkStatus() : batch.status();
    return batch;
  }

  absl::Status status() const override {
    MutexLock lock(&mutex_);
    return status_;
  }

  std::string SaveState() const override {
    MutexLock lock(&mutex_);
    return plan::SerializeState({plan::kStateVersion, cursor_.epoch, cursor_.position, job_->job->order_fingerprint(),
                                 job_->pipeline_fingerprint});
  }

  uint64_t steps_per_epoch() const override { return steps_.StepsOf(cursor().epoch); }
  uint64_t steps_left_in_epoch() const override { return steps_.StepsFrom(cursor()); }
  uint64_t step_in_epoch() const override { return steps_.NumberAt(cursor()); }
  uint64_t rows_per_epoch() const override { return steps_.positions(); }
  const std::string& job() const override { return job_->job->spec().name(); }
  uint64_t batch_size() const override { return steps_.sizes().first; }
  std::vector<BatchChange> batch_changes() const override { return client::BatchChangesOf(steps_); }
  uint64_t batch_multiple() const override { return client::BatchMultipleOf(steps_); }
  std::string_view last_batch() const override { return plan::LastBatchName(steps_.last()); }
  const std::vector<ColumnInfo>& columns() const override { return job_->format->infos; }
  const std::vector<std::string>& datasets() const override { return job_->format->sets; }

  ReaderStats Stats() const override {
    MutexLock lock(&mutex_);
    ReaderStats stats = stats_;
    if (waiting_since_.has_value()) stats.waited += absl::Nanoseconds(Clock::Real()->Now() - *waiting_since_);
    stats.prefetched_steps = prepared_->ready_steps();
    stats.datasets = datasets_.At(cursor_);
    return stats;
  }

  void Cancel() override { prepared_->Cancel(); }

 private:
  plan::Cursor cursor() const {
    MutexLock lock(&mutex_);
    return cursor_;
  }

  absl::StatusOr<Batch> NextBatch(Nanos timeout) {
    absl::StatusOr<std::optional<loader::PreparedStep>> step = prepared_->Next(timeout);
    if (!step.ok()) return WithFileErrors(step.status());
    absl::StatusOr<Batch> batch = Finish(*std::move(step));
    if (!absl::IsOutOfRange(batch.status())) failure_ = batch.status();
    return batch;
  }

  absl::StatusOr<Batch> Finish(std::optional<loader::PreparedStep> step) {
    if (!step.has_value()) return absl::OutOfRangeError("all requested epochs are over");
    auto& target = static_cast<BatchTarget&>(*step->target);
    PS_ASSIGN_OR_RETURN(Batch batch, target.Finish(steps_.NumberAt({step->span.epoch, step->span.begin})));
    after_ = steps_.After(step->span);
    MutexLock lock(&mutex_);
    stats_.masked_rows += target.masked();
    stats_.substituted_rows += target.substituted();
    return batch;
  }

  // Adds the failing files to a timeout's message, because they may be the cause.
  absl::Status WithFileErrors(const absl::Status& status) const {
    if (!absl::IsDeadlineExceeded(status)) return status;
    std::string text(status.message());
    for (const std::string& line : job_->file_errors->Lines(kFileErrorLines, kFileErrorBytes)) {
      absl::StrAppend(&text, "; ", line);
    }
    return absl::DeadlineExceededError(text);
  }

  const std::shared_ptr<const LoadedJob> job_;
  const plan::Steps steps_;
  const std::shared_ptr<client::BatchMemory> memory_;
  std::unique_ptr<loader::PreparedSteps> prepared_;
  // For Next's thread only.
  plan::Cursor after_;
  absl::Status failure_;  // why a step has no batch; its rows are gone, and the reader stays at it

  mutable Mutex mutex_;
  plan::Cursor cursor_ ABSL_GUARDED_BY(mutex_);
  ReaderStats stats_ ABSL_GUARDED_BY(mutex_);
  client::DatasetCounts datasets_ ABSL_GUARDED_BY(mutex_);
  absl::Duration this_wait_ ABSL_GUARDED_BY(mutex_);
  std::optional<Nanos> waiting_since_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<Reader>> OpenDirectReader(loader::Loader* loader, std::shared_ptr<const LoadedJob> job,
                                                         const ReaderOptions& options) {
  if (options.world_size == 0 || options.rank >= options.world_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", options.rank, " of a world size of ", options.world_size, ": ranks count from 0"));
  }
  const loader::LoadJob& load = *job->job;
  const plan::StepSizes sizes = plan::StepSizesOf(load.spec().batch(), load.order().batches(), options.batch_size);
  PS_RETURN_IF_ERROR(load.order().CheckBatchRows(sizes.first));
  PS_ASSIGN_OR_RETURN(
      const plan::Steps steps,
      plan::Steps::Create(load.positions(), sizes, plan::LastBatchOf(load.spec().batch().last()), options.world_size));
  std::optional<plan::SessionState> saved;
  if (!options.state.empty()) {
    PS_ASSIGN_OR_RETURN(saved, plan::ParseState(options.state));
  }
  const plan::Cursor start = saved.has_value() ? saved->cursor() : plan::Cursor{options.epoch, 0};
  PS_RETURN_IF_ERROR(client::CheckStart({load.spec().name(), job->format.get(), load.order_fingerprint(),
                                         job->pipeline_fingerprint, options.accept_new_pipeline, &load.order()},
                                        steps, start, saved));
  uint64_t row_bytes = job->format->memory_bytes;
  if (job->format->ragged && load.num_records() > 0) {
    uint64_t bytes = 0;
    for (const sources::SnapshotShard& shard : load.reader().snapshot().shards()) bytes += shard.data_bytes;
    row_bytes += bytes / load.num_records();
  }
  const uint64_t step_bytes = row_bytes * (steps.largest() / steps.world_size());
  const uint64_t window = client::WindowSteps(options.prefetch_steps, options.prefetch_bytes, step_bytes);
  auto reader = std::make_unique<DirectReader>(std::move(job), steps, start, options.allocator,
                                               (window + kInHand) * (step_bytes + step_bytes / 4 + 65536));
  PS_RETURN_IF_ERROR(reader->Start(loader, {options.rank, start, options.epochs, static_cast<uint32_t>(window)}));
  return reader;
}

}  // namespace penstock::feed
