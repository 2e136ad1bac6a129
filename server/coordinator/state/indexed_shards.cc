#include "server/coordinator/state/indexed_shards.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "pipeline/plan/job_dataset.h"
#include "pipeline/plan/job_slices.h"
#include "pipeline/sources/npy/npy_container.h"
#include "pipeline/sources/snapshot_proto.h"

namespace penstock::coordinator {

std::string FileName(const v1::Shard& shard) { return absl::StrCat(shard.root(), "/", shard.path()); }

void Slice(const v1::Dataset& dataset, std::span<v1::Shard> shards) {
  std::vector<uint64_t> counts;
  for (const v1::Shard& shard : shards) counts.push_back(shard.records());
  const std::vector<plan::RecordRun> kept = plan::KeptRuns(dataset, counts);
  for (size_t i = 0; i < kept.size(); ++i) {
    v1::Shard& shard = shards[i];
    sources::SnapshotShard sliced = sources::SnapshotShardOf(shard);
    sliced.Slice(kept[i].first, kept[i].stride, kept[i].count);
    if (!sliced.slice) continue;
    shard.set_indexed_records(sliced.slice->of);
    shard.set_slice_first(sliced.slice->first);
    shard.set_slice_stride(sliced.slice->stride);
    shard.set_records(sliced.record_count);
    shard.set_data_bytes(sliced.data_bytes);
  }
}

absl::Status CheckKeepsSome(const v1::JobSpec& job, int set, std::span<v1::Shard> shards) {
  if (job.dataset(set).select().empty()) return absl::OkStatus();
  uint64_t records = 0, whole = 0, longest_run = 0;
  for (v1::Shard& shard : shards) {
    records += shard.records();
    whole += shard.whole_records();
    longest_run = std::max(longest_run, shard.longest_run());
    shard.clear_longest_run();
  }
  if (records > 0) return absl::OkStatus();
  const std::string reason = plan::NoWindowReason(job.dataset(set), longest_run);
  return absl::FailedPreconditionError(absl::StrCat(
      "dataset[", set, "].select: keeps none of the ", whole, " records in the ", shards.size(), " files of job ",
      job.name(), "; ", reason.empty() ? "`penstock select` shows what each step keeps" : reason));
}

absl::Status CheckRowTypes(std::span<v1::Shard> shards) {
  const v1::Shard* first = nullptr;
  for (v1::Shard& shard : shards) {
    if (shard.row_type() == 0) continue;
    if (first == nullptr) first = &shard;
    if (shard.row_type() != first->row_type()) return sources::RowsDiffer(FileName(*first), FileName(shard));
  }
  for (v1::Shard& shard : shards) shard.clear_row_type();
  return absl::OkStatus();
}

}  // namespace penstock::coordinator
