// A job for the loader: its data set, its pipeline and its plan. Shared by all sessions. Immutable, except decided()
// and paused().
#ifndef PENSTOCK_PIPELINE_LOADER_LOAD_JOB_H_
#define PENSTOCK_PIPELINE_LOADER_LOAD_JOB_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/augment/op/sample_key.h"
#include "pipeline/augment/set_pipelines.h"
#include "pipeline/loader/data_format.h"
#include "pipeline/loader/dataset_reader.h"
#include "pipeline/loader/decided_records.h"
#include "pipeline/plan/data_order.h"

namespace penstock::loader {

// Authority that declares a record bad after this machine's copy was found damaged.
enum class DamageVerdict {
  kOwn,  // there is one copy: its three reads decide, for the life of the LoadJob
  // Other workers may have an intact copy: rows fail with RowResult::damaged_record until decided() has the record.
  kGiven,
};

// Returns LoadJob::record_space() of a job: `data` is the fingerprint of its snapshot, `features` the features that it
// reads.
uint64_t RecordSpaceOf(uint64_t data, const SetFeatures& features);

// Returns InvalidArgument if a row with `bytes` bytes in its columns of fixed shape is larger than kMaxRowBytes.
absl::Status CheckFixedBytes(uint64_t bytes);

// Returns the key of the row's random numbers.
inline SampleKey SampleKeyOf(const plan::PlannedRow& row) { return {row.seed, row.epoch, row.repeat, row.number}; }

class LoadJob {
 public:
  // `reader` serves the snapshot of the job, with the features that its data sets read (SetFeaturesOf) or whole
  // records. Returns the errors of SetPipelines::Create, and InvalidArgument if the format or the order's options are
  // wrong.
  static absl::StatusOr<std::shared_ptr<const LoadJob>> Create(const v1::JobSpec& job,
                                                               std::shared_ptr<DatasetReader> reader,
                                                               DamageVerdict verdict = DamageVerdict::kOwn);
  // Does the same with an existing pipeline for all data sets.
  static absl::StatusOr<std::shared_ptr<const LoadJob>> Create(const v1::JobSpec& spec,
                                                               std::shared_ptr<DatasetReader> reader,
                                                               std::unique_ptr<const augment::Pipeline> pipeline,
                                                               DamageVerdict verdict = DamageVerdict::kOwn);

  const v1::JobSpec& spec() const { return spec_; }
  const augment::SetPipelines& pipelines() const { return pipelines_; }
  // Returns the columns of the job's rows.
  const batch::RowSchema& schema() const { return pipelines_.schema(); }
  // Returns the data set of a record if the data sets have several pipelines; otherwise 0. record < num_records().
  uint32_t PipelineSetOf(uint64_t record) const { return pipelines_.are_one() ? 0 : order_->SetOfRecord(record); }
  // Returns the pipeline that makes the row of a record.
  const augment::Pipeline& PipelineOf(uint64_t record) const { return pipelines_.Of(PipelineSetOf(record)); }
  DatasetReader& reader() const { return *reader_; }
  // Returns the order of the records in all epochs.
  const plan::DataOrder& order() const { return *order_; }
  const plan::PlanOptions& plan_options() const { return order_->options(); }
  uint64_t order_fingerprint() const { return order_fingerprint_; }
  DamageVerdict verdict() const { return verdict_; }
  // Records that are bad for the job's sessions, except those with LoaderSessionOptions::decided. Thread-safe; grows
  // while rows are made.
  const std::shared_ptr<DecidedRecords>& decided() const { return decided_; }

  // Whether the job is paused: Loader starts no row of it. May be set at any time, before Loader::PausesChanged().
  std::atomic<bool>& paused() const { return *paused_; }

  // Returns the number of positions of an epoch.
  uint64_t positions() const { return order_->num_positions(); }
  uint64_t num_records() const { return order_->num_records(); }
  // Returns the size of all FIXED columns of a row.
  uint64_t fixed_bytes() const { return fixed_bytes_; }
  // Keys of cache entries that jobs may share. `record_space`: records of the snapshot, with the features that the job
  // reads. `decoded_space`: results of the pipeline's deterministic prefix, and rows of a deterministic pipeline.
  uint64_t record_space() const { return record_space_; }
  uint64_t decoded_space() const { return decoded_space_; }
  // Key of rows that several sessions read at the same positions. It also depends on the order.
  uint64_t shared_space() const { return shared_space_; }

  // Returns the plan of the epoch. Cheap: O(data sets) memory in addition to the shared record counts. Thread-safe.
  plan::EpochOrder PlanOf(uint64_t epoch) const { return order_->Epoch(epoch); }

 private:
  explicit LoadJob(augment::SetPipelines pipelines) : pipelines_(std::move(pipelines)) {}
  static absl::StatusOr<std::shared_ptr<const LoadJob>> Create(const v1::JobSpec& spec,
                                                               std::shared_ptr<DatasetReader> reader,
                                                               augment::SetPipelines pipelines, DamageVerdict verdict);

  v1::JobSpec spec_;
  augment::SetPipelines pipelines_;
  std::shared_ptr<DatasetReader> reader_;
  DamageVerdict verdict_ = DamageVerdict::kOwn;
  const std::shared_ptr<DecidedRecords> decided_ = std::make_shared<DecidedRecords>();
  const std::unique_ptr<std::atomic<bool>> paused_ = std::make_unique<std::atomic<bool>>(false);
  std::shared_ptr<const plan::DataOrder> order_;
  uint64_t order_fingerprint_ = 0;
  uint64_t fixed_bytes_ = 0;
  uint64_t record_space_ = 0;
  uint64_t decoded_space_ = 0;
  uint64_t shared_space_ = 0;
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_LOAD_JOB_H_
