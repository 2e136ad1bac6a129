#include "pipeline/plan/group_map.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace penstock::plan {
namespace {

absl::Status Inconsistent(uint64_t shard) {
  return absl::InvalidArgumentError(absl::StrCat("the groups of shard ", shard, " do not fit its records"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const GroupMap>> GroupMap::Create(std::shared_ptr<const ShardOffsets> offsets,
                                                                 const RecordGroups& groups) {
  size_t pairs = 0;
  for (const ShardGroups& shard : groups.shards) pairs += shard.groups.size();
  PS_RETURN_IF_ERROR(CheckLimits(groups.names.size(), pairs));
  if (groups.shards.size() != offsets->num_shards()) {
    return absl::InvalidArgumentError(
        absl::StrCat("groups of ", groups.shards.size(), " shards, and there are ", offsets->num_shards(), " shards"));
  }
  std::shared_ptr<GroupMap> map(new GroupMap());
  std::vector<std::vector<uint64_t>> counts(groups.names.size());  // by group, by shard that has it
  std::vector<uint64_t> before(groups.names.size(), 0);
  map->groups_.resize(groups.names.size());
  for (uint64_t s = 0; s < groups.shards.size(); ++s) {
    const ShardGroups& shard = groups.shards[s];
    map->parts_of_shard_.push_back(map->parts_.size());
    if (shard.records.size() != shard.groups.size()) return Inconsistent(s);
    uint64_t begin = offsets->begin(s);
    for (size_t i = 0; i < shard.groups.size(); ++i) {
      const uint32_t group = shard.groups[i];
      if (group >= groups.names.size() || shard.records[i] == 0 || (i > 0 && group <= shard.groups[i - 1])) {
        return Inconsistent(s);
      }
      map->parts_.push_back({begin, before[group], group});
      map->groups_[group].begins.push_back(begin);
      counts[group].push_back(shard.records[i]);
      before[group] += shard.records[i];
      begin += shard.records[i];
    }
    if (begin != offsets->begin(s + 1)) return Inconsistent(s);
  }
  map->parts_of_shard_.push_back(map->parts_.size());
  for (size_t group = 0; group < counts.size(); ++group) {
    if (counts[group].empty()) {
      return absl::InvalidArgumentError(absl::StrCat("no shard has a record of group '", groups.names[group], "'"));
    }
    map->groups_[group].name = groups.names[group];
    PS_ASSIGN_OR_RETURN(map->groups_[group].offsets, ShardOffsets::Create(counts[group]));
  }
  map->shards_ = std::move(offsets);
  return map;
}

uint64_t GroupMap::RecordOf(const Place& place) const {
  const Group& group = groups_[place.group];
  const Location at = group.offsets->Locate(place.number);
  return group.begins[at.shard] + at.record;
}

GroupMap::Place GroupMap::PlaceOf(uint64_t record) const {
  const uint64_t shard = shards_->Locate(record).shard;
  const auto first = parts_.begin() + static_cast<ptrdiff_t>(parts_of_shard_[shard]);
  const auto end = parts_.begin() + static_cast<ptrdiff_t>(parts_of_shard_[shard + 1]);
  const auto after = std::upper_bound(first, end, record, [](uint64_t r, const Part& part) { return r < part.begin; });
  const Part& part = *(after - 1);
  return {part.group, part.number + (record - part.begin)};
}

ShardGroups GroupMap::OfShard(uint64_t shard) const {
  ShardGroups out;
  for (size_t i = parts_of_shard_[shard]; i < parts_of_shard_[shard + 1]; ++i) {
    const uint64_t end = i + 1 < parts_of_shard_[shard + 1] ? parts_[i + 1].begin : shards_->begin(shard + 1);
    out.groups.push_back(parts_[i].group);
    out.records.push_back(static_cast<uint32_t>(end - parts_[i].begin));
  }
  return out;
}

}  // namespace penstock::plan
