#include "server/worker/indexes/index_prefetch.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "pipeline/sources/snapshot_proto.h"

namespace penstock::worker {

std::vector<int> ShardsToServe(const v1::Job& job, const std::string& worker_id) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;  // record ranges
  const v1::View& view = job.view();
  for (const v1::View::Range& range : view.ranges()) {
    const auto is_self = [&](uint32_t index) {
      return index < static_cast<uint32_t>(view.workers_size()) &&
             view.workers(static_cast<int>(index)).id() == worker_id;
    };
    if (!is_self(range.owner()) && !is_self(range.backup())) continue;
    if (view.policy() == v1::BY_RANK) {  // its rows may be of any shard
      ranges = {{0, UINT64_MAX}};
      break;
    }
    ranges.emplace_back(range.begin(), range.end());
  }
  std::vector<int> shards;
  size_t next = 0;
  uint64_t begin = 0;
  for (int i = 0; i < job.snapshot().shards_size(); ++i) {
    const uint64_t end = begin + job.snapshot().shards(i).records();
    while (next < ranges.size() && ranges[next].second <= begin) ++next;
    if (begin < end && next < ranges.size() && ranges[next].first < end) shards.push_back(i);
    begin = end;
  }
  return shards;
}

bool IndexPrefetch::Run(const v1::Job& job, const std::stop_token& stop, absl::FunctionRef<bool()> wanted) {
  bool complete = true;
  const uint64_t removals = indexes_->removals();
  if (std::exchange(removals_, removals) != removals) done_.clear();
  const absl::StatusOr<loader::IndexProvider> provider = indexes_->ProviderFor(job, roots_);
  const absl::StatusOr<sources::Snapshot> snapshot = sources::SnapshotOf(job.snapshot());
  if (!provider.ok() || !snapshot.ok()) return true;  // the job cannot be opened either, which reports the error
  for (const int i : ShardsToServe(job, worker_id_)) {
    if (stop.stop_requested() || !wanted()) return true;
    const sources::SnapshotShard& shard = snapshot->shards()[static_cast<size_t>(i)];
    const auto path = sources::ResolveInRoots(indexes_->store().storage(), shard.root, shard.relative_path, roots_);
    if (!path.ok()) continue;
    const std::string key = absl::StrCat(*path, "#", shard.content_hash);
    if (done_.contains(key)) continue;
    const absl::Status fetched = (*provider)(shard, *path, {}).status();
    if (fetched.ok()) done_.insert(key);
    if (absl::IsUnavailable(fetched)) complete = false;
  }
  return complete || !wanted();
}

}  // namespace penstock::worker
