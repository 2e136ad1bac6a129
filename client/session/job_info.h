// A job as the coordinator describes it, checked and in the library's own terms.
#ifndef PENSTOCK_CLIENT_SESSION_JOB_INFO_H_
#define PENSTOCK_CLIENT_SESSION_JOB_INFO_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/assembly/batch_builder.h"
#include "penstock/v1/submitted_job.pb.h"
#include "pipeline/plan/epoch_plan.h"
#include "pipeline/plan/steps.h"
#include "pipeline/plan/view.h"

namespace penstock {

struct JobInfo {
  std::string name;
  uint64_t uid = 0;
  std::shared_ptr<const BatchFormat> format;
  std::shared_ptr<const ShardOffsets> offsets;
  PlanOptions plan;
  uint64_t positions = 0;  // of an epoch
  uint32_t batch_size = 0;
  LastBatch last = LastBatch::kDrop;
  uint64_t order_fingerprint = 0;
  uint64_t pipeline_fingerprint = 0;
  uint64_t mean_record_bytes = 0;
};

// The job must be READY.
//   InvalidArgument      what the coordinator says is not sound; the message names the field
//   FailedPrecondition   the coordinator's plan is another than this library's: releases that do not fit
absl::StatusOr<JobInfo> MakeJobInfo(const v1::Job& job);

// Checked by View::Validate and against the job's number of records.
absl::StatusOr<std::shared_ptr<const View>> MakeView(const v1::View& view, uint64_t records);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SESSION_JOB_INFO_H_
