// A job as the loader sees it: its data set, its pipeline, its plan. Immutable, shared by all sessions.
#ifndef PENSTOCK_PIPELINE_LOADER_LOAD_JOB_H_
#define PENSTOCK_PIPELINE_LOADER_LOAD_JOB_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/augment/pipeline.h"
#include "pipeline/loader/dataset_reader.h"
#include "pipeline/plan/epoch_plan.h"

namespace penstock {

class LoadJob {
 public:
  // `reader` serves the snapshot that the job froze. InvalidArgument as Pipeline::Create.
  static absl::StatusOr<std::shared_ptr<const LoadJob>> Create(const v1::JobSpec& spec,
                                                               std::shared_ptr<DatasetReader> reader);

  const v1::JobSpec& spec() const { return spec_; }
  const Pipeline& pipeline() const { return *pipeline_; }
  DatasetReader& reader() const { return *reader_; }
  const PlanOptions& plan_options() const { return plan_options_; }
  uint64_t order_fingerprint() const { return order_fingerprint_; }
  uint64_t pipeline_fingerprint() const { return pipeline_->fingerprint(); }

  // The epoch's plan. Cheap: O(1) memory beside the shared shard counts. Thread-safe.
  EpochPlan PlanOf(uint64_t epoch) const;

 private:
  LoadJob() = default;
  v1::JobSpec spec_;
  std::unique_ptr<const Pipeline> pipeline_;
  std::shared_ptr<DatasetReader> reader_;
  PlanOptions plan_options_;
  uint64_t order_fingerprint_ = 0;
};

// The plan's options that an Order message says, with its defaults filled in.
PlanOptions PlanOptionsOf(const v1::Order& order);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_LOAD_JOB_H_
