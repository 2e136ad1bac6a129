#include "client/session/job_info.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "pipeline/base/status_macros.h"
#include "pipeline/plan/state.h"

namespace penstock {
namespace {

PlanOptions PlanOptionsOfOrder(const v1::Order& order) {
  PlanOptions options;
  options.seed = order.seed();
  options.shuffle = order.shuffle() == v1::Order::NONE   ? Shuffle::kNone
                    : order.shuffle() == v1::Order::FULL ? Shuffle::kFull
                                                         : Shuffle::kChunked;
  if (order.repeats() != 0) options.repeats = order.repeats();
  if (order.chunk_records() != 0) options.chunk_records = order.chunk_records();
  if (order.window_chunks() != 0) options.window_chunks = order.window_chunks();
  return options;
}

LastBatch LastBatchOf(v1::LastBatch last) {
  return last == v1::PAD ? LastBatch::kPad : last == v1::PARTIAL ? LastBatch::kPartial : LastBatch::kDrop;
}

}  // namespace

absl::StatusOr<JobInfo> MakeJobInfo(const v1::Job& job) {
  JobInfo info;
  info.name = job.name();
  info.uid = job.uid();

  RowSchema schema;
  for (const v1::Column& column : job.columns()) {
    ColumnSpec spec;
    spec.name = column.name();
    spec.dtype = static_cast<DType>(column.dtype());
    spec.ragged = column.ragged();
    spec.shape.assign(column.shape().begin(), column.shape().end());
    spec.scalar = column.scalar();
    schema.columns.push_back(std::move(spec));
  }
  PS_ASSIGN_OR_RETURN(info.format, BatchFormat::Create(std::move(schema)));

  std::vector<uint64_t> counts;
  uint64_t bytes = 0;
  for (const v1::Shard& shard : job.snapshot().shards()) {
    counts.push_back(shard.records());
    bytes += shard.data_bytes();
  }
  PS_ASSIGN_OR_RETURN(info.offsets, ShardOffsets::Create(counts));
  info.plan = PlanOptionsOfOrder(job.spec().order());
  PS_ASSIGN_OR_RETURN(const EpochPlan plan, EpochPlan::Create(info.offsets, info.plan, 0));
  info.positions = plan.num_positions();
  if (info.positions > 0) info.mean_record_bytes = bytes / info.offsets->num_records();

  info.batch_size = job.spec().batch().size();
  info.last = LastBatchOf(job.spec().batch().last());
  info.order_fingerprint = OrderFingerprint(job.snapshot().fingerprint(), info.plan);
  info.pipeline_fingerprint = job.pipeline_fingerprint();
  if (info.order_fingerprint != job.order_fingerprint()) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", job.name(), ": the coordinator's order of records (fingerprint ",
                     absl::Hex(job.order_fingerprint()), ") is not this client's (", absl::Hex(info.order_fingerprint),
                     ", plan version ", kPlanVersion, "); use a client and a coordinator of one release"));
  }
  return info;
}

absl::StatusOr<std::shared_ptr<const View>> MakeView(const v1::View& view, uint64_t records) {
  auto made = std::make_shared<View>();
  made->term = view.term();
  made->n = view.number();
  made->policy = view.policy() == v1::RANKS ? AssignPolicy::kRanks : AssignPolicy::kRanges;
  made->key_space = view.key_space();
  for (const v1::View::Range& range : view.ranges()) {
    made->ranges.push_back({range.begin(), range.end(), range.owner(), range.backup()});
  }
  for (const v1::View::Worker& worker : view.workers()) made->workers.push_back({worker.id(), worker.address()});
  PS_RETURN_IF_ERROR(made->Validate());
  if (made->policy == AssignPolicy::kRanges && !made->ranges.empty() && made->key_space != records) {
    return absl::InvalidArgumentError(absl::StrCat("view (", made->term, ", ", made->n, ") is of ", made->key_space,
                                                   " records, and the job has ", records));
  }
  return std::shared_ptr<const View>(std::move(made));
}

v1::View ViewToProto(const View& view) {
  v1::View proto;
  proto.set_term(view.term);
  proto.set_number(view.n);
  proto.set_policy(view.policy == AssignPolicy::kRanks ? v1::RANKS : v1::RANGES);
  proto.set_key_space(view.key_space);
  for (const ViewRange& range : view.ranges) {
    v1::View::Range* to = proto.add_ranges();
    to->set_begin(range.begin);
    to->set_end(range.end);
    to->set_owner(range.owner);
    to->set_backup(range.backup);
  }
  for (const ViewWorker& worker : view.workers) {
    v1::View::Worker* to = proto.add_workers();
    to->set_id(worker.id);
    to->set_address(worker.address);
  }
  return proto;
}

}  // namespace penstock
