// Where the records of each group are, and the group of each record.
#ifndef PENSTOCK_PIPELINE_PLAN_GROUP_MAP_H_
#define PENSTOCK_PIPELINE_PLAN_GROUP_MAP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/plan/record_groups.h"
#include "pipeline/plan/shard_offsets.h"

namespace penstock::plan {

// Immutable, thread-safe. The records of a group are numbered through the shards in order. Takes about 40 bytes for
// each group of each shard.
class GroupMap {
 public:
  // A record by its group, and its number in the group.
  struct Place {
    uint32_t group = 0;
    uint64_t number = 0;

    bool operator==(const Place&) const = default;
  };

  // Creates the map. `offsets` are those of the shards. Returns InvalidArgument if `groups` does not fit `offsets` or
  // is inconsistent, and the errors of CheckLimits().
  static absl::StatusOr<std::shared_ptr<const GroupMap>> Create(std::shared_ptr<const ShardOffsets> offsets,
                                                                const RecordGroups& groups);

  uint32_t groups() const { return static_cast<uint32_t>(groups_.size()); }
  const std::string& name(uint32_t group) const { return groups_[group].name; }
  // Returns the counts of the group's records in the shards that have some.
  const std::shared_ptr<const ShardOffsets>& offsets(uint32_t group) const { return groups_[group].offsets; }

  // Returns the number of a record in the snapshot. place.number < offsets(place.group)->num_records(). O(log shards).
  uint64_t RecordOf(const Place& place) const;
  // The inverse of RecordOf().
  Place PlaceOf(uint64_t record) const;
  // Returns the groups of a shard, with the number of records of each.
  ShardGroups OfShard(uint64_t shard) const;

 private:
  struct Group {
    std::string name;
    std::shared_ptr<const ShardOffsets> offsets;
    std::vector<uint64_t> begins;  // first record of the group in each of these shards
  };
  // The records of one group in one shard.
  struct Part {
    uint64_t begin = 0;   // first record
    uint64_t number = 0;  // the number of this record in its group
    uint32_t group = 0;
  };

  GroupMap() = default;

  std::shared_ptr<const ShardOffsets> shards_;
  std::vector<Group> groups_;
  std::vector<Part> parts_;             // ascending by `begin`
  std::vector<size_t> parts_of_shard_;  // first part of each shard, and the number of parts
};

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_GROUP_MAP_H_
