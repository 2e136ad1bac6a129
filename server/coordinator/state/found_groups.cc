#include "server/coordinator/state/found_groups.h"

#include "absl/strings/str_cat.h"
#include "pipeline/plan/job_dataset.h"
#include "pipeline/plan/record_groups.h"
#include "pipeline/plan/snapshot_groups.h"
#include "pipeline/plan/value_bins.h"

namespace penstock::coordinator {

absl::Status FoundGroups::Take(v1::Shard* shard) {
  v1::ShardGroups& groups = *shard->mutable_groups();
  uint64_t records = 0;
  bool is_right = groups.names_size() == groups.records_size() && groups.groups().empty();
  for (int i = 0; i < groups.records_size() && is_right; ++i) {
    records += groups.records(i);
    is_right = groups.records(i) > 0 && (i == 0 || groups.names(i - 1) < groups.names(i));
  }
  if (!is_right || records != shard->records()) {
    return absl::InternalError(
        absl::StrCat("a worker reports wrong groups of ", shard->root(), "/", shard->path(), ": upgrade it"));
  }
  for (const std::string& name : groups.names()) {
    groups.add_groups(numbers_.try_emplace(name, static_cast<uint32_t>(numbers_.size())).first->second);
  }
  groups.clear_names();
  pairs_ += static_cast<size_t>(groups.groups_size());
  if (groups.groups().empty()) shard->clear_groups();
  return plan::CheckLimits(numbers_.size(), pairs_);
}

std::vector<std::string> FoundGroups::Finish(const v1::Select& step, std::vector<v1::Shard>* shards) const {
  std::vector<std::string> names;
  std::vector<uint32_t> sorted(numbers_.size());  // by number in the reports
  for (const auto& [name, number] : numbers_) {
    sorted[number] = static_cast<uint32_t>(names.size());
    names.push_back(name);
  }
  // The groups of a shard are in the order of their names already.
  for (v1::Shard& shard : *shards) {
    for (uint32_t& group : *shard.mutable_groups()->mutable_groups()) group = sorted[group];
    if (shard.groups().groups().empty()) shard.clear_groups();
  }
  if (!plan::MakesBins(step)) return names;
  std::vector<uint64_t> records(names.size(), 0);
  for (const v1::Shard& shard : *shards) plan::AddRecords(plan::GroupsOfShard(shard), &records);
  const plan::ValueBins bins = plan::MakeBins(names, records, plan::BinRuleOf(step));
  for (v1::Shard& shard : *shards) {
    if (!shard.has_groups()) continue;
    plan::ShardGroups merged = plan::GroupsOfShard(shard);
    plan::MergeIntoBins(bins, &merged);
    shard.mutable_groups()->mutable_groups()->Assign(merged.groups.begin(), merged.groups.end());
    shard.mutable_groups()->mutable_records()->Assign(merged.records.begin(), merged.records.end());
  }
  return bins.names;
}

}  // namespace penstock::coordinator
