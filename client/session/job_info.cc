#include "client/session/job_info.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "net/view_proto.h"
#include "pipeline/batch/mix_job.h"
#include "pipeline/plan/job_dataset.h"
#include "pipeline/plan/job_order.h"
#include "pipeline/plan/set_selections.h"
#include "pipeline/plan/snapshot_groups.h"

namespace penstock::client {
absl::StatusOr<JobInfo> MakeJobInfo(const v1::Job& job) {
  JobInfo info;
  info.name = job.name();
  info.uid = job.uid();

  batch::RowSchema schema;
  for (const v1::Column& column : job.columns()) {
    batch::ColumnSpec spec;
    spec.name = column.name();
    spec.dtype = static_cast<batch::DType>(column.dtype());
    spec.ragged = column.ragged();
    spec.shape.assign(column.shape().begin(), column.shape().end());
    spec.scalar = column.scalar();
    schema.columns.push_back(std::move(spec));
  }
  std::optional<BatchMix> mix;
  if (job.spec().has_mix()) {
    absl::StatusOr<batch::MixPlan> plan = batch::MakeMixPlan(job.spec().mix(), schema);
    if (!plan.ok()) {
      return absl::Status(plan.status().code(), absl::StrCat("job ", job.name(), ": ", plan.status().message()));
    }
    mix = BatchMix{*std::move(plan), job.spec().order().seed()};
  }
  PS_ASSIGN_OR_RETURN(info.format,
                      BatchFormat::Create(std::move(schema), std::move(mix), plan::SetNamesOf(job.spec())));

  std::vector<uint64_t> counts;
  uint64_t bytes = 0;
  for (const v1::Shard& shard : job.snapshot().shards()) {
    counts.push_back(shard.records());
    bytes += shard.data_bytes();
  }
  const auto& set_shards = job.snapshot().set_shards();
  PS_ASSIGN_OR_RETURN(info.order,
                      plan::DataOrderOf(job.spec(), counts, {set_shards.data(), static_cast<size_t>(set_shards.size())},
                                        plan::GroupsOf(job.snapshot())));
  info.selects = plan::HasSelection(job.snapshot());
  if (!info.selects && plan::SelectsRecords(job.spec())) {
    return absl::FailedPreconditionError(absl::StrCat(
        "job ", job.name(), ": its coordinator does not know dataset.select, and would serve all records; upgrade it"));
  }
  info.positions = info.order->num_positions();
  if (info.positions > 0) info.mean_record_bytes = bytes / info.order->num_records();

  info.batch = job.spec().batch();
  info.last = plan::LastBatchOf(job.spec().batch().last());
  info.order_fingerprint = info.order->Fingerprint(job.snapshot().fingerprint());
  info.pipeline_fingerprint = job.pipeline_fingerprint();
  if (info.order_fingerprint != job.order_fingerprint()) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", job.name(), ": the coordinator's order of records (fingerprint ",
                     absl::Hex(job.order_fingerprint()), ") is not this client's (", absl::Hex(info.order_fingerprint),
                     ", plan version ", info.order->version(), "); use a client and a coordinator of one release"));
  }
  return info;
}

absl::StatusOr<std::shared_ptr<const plan::View>> MakeView(const v1::View& view, uint64_t records) {
  PS_ASSIGN_OR_RETURN(plan::View checked, net::FromProto(view));
  auto made = std::make_shared<const plan::View>(std::move(checked));
  if (made->policy == plan::AssignPolicy::kByRecord && !made->ranges.empty() && made->key_space != records) {
    return absl::InvalidArgumentError(absl::StrCat("view (", made->term, ", ", made->n, ") is of ", made->key_space,
                                                   " records, and the job has ", records));
  }
  return made;
}

}  // namespace penstock::client
