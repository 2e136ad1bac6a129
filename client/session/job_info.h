// A job from the coordinator, validated and in the library's own types.
#ifndef PENSTOCK_CLIENT_SESSION_JOB_INFO_H_
#define PENSTOCK_CLIENT_SESSION_JOB_INFO_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/assembly/batch_builder.h"
#include "penstock/v1/submitted_job.pb.h"
#include "pipeline/plan/data_order.h"
#include "pipeline/plan/steps.h"
#include "pipeline/plan/view.h"

namespace penstock::client {

struct JobInfo {
  std::string name;
  uint64_t uid = 0;
  std::shared_ptr<const BatchFormat> format;
  std::shared_ptr<const plan::DataOrder> order;
  bool selects = false;    // the job selects records, so workers send their numbers in the files
  uint64_t positions = 0;  // per epoch
  v1::Batch batch;
  plan::LastBatch last = plan::LastBatch::kDrop;
  uint64_t order_fingerprint = 0;
  uint64_t pipeline_fingerprint = 0;
  uint64_t mean_record_bytes = 0;  // in the shards
};

// Converts a job, which must be READY.
//   InvalidArgument      the coordinator's description is invalid; the message names the field
//   FailedPrecondition   the coordinator's plan differs from this library's: the releases are incompatible
absl::StatusOr<JobInfo> MakeJobInfo(const v1::Job& job);

// Converts a view, and validates it: with View::Validate and, for BY_RECORD, against the job's number of records.
// Returns InvalidArgument for an invalid view, and Unimplemented for one that only a later release can read.
absl::StatusOr<std::shared_ptr<const plan::View>> MakeView(const v1::View& view, uint64_t records);

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_SESSION_JOB_INFO_H_
