// The number of each shard's first record. Shards are in sorted order, and their records are numbered consecutively.
#ifndef PENSTOCK_PIPELINE_PLAN_SHARD_OFFSETS_H_
#define PENSTOCK_PIPELINE_PLAN_SHARD_OFFSETS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"

namespace penstock::plan {

// A record, identified by its shard (index in sorted order) and its index in the shard.
struct Location {
  uint64_t shard = 0;
  uint64_t record = 0;
  bool operator==(const Location&) const = default;
};

// Immutable prefix sums of the shards' record counts, shared by all plans of a snapshot. Thread-safe.
class ShardOffsets {
 public:
  // Creates the sums. Returns InvalidArgument if there are more than 2^62 records. Empty shards are allowed.
  static absl::StatusOr<std::shared_ptr<const ShardOffsets>> Create(const std::vector<uint64_t>& counts);

  uint64_t num_shards() const { return begins_.size() - 1; }
  uint64_t num_records() const { return begins_.back(); }
  // Returns the number of the shard's first record. shard <= num_shards().
  uint64_t begin(uint64_t shard) const { return begins_[shard]; }

  // Returns the shard and the record for a record number. record < num_records(). O(log shards).
  Location Locate(uint64_t record) const;
  // The inverse of Locate.
  uint64_t RecordNumber(const Location& location) const { return begins_[location.shard] + location.record; }

 private:
  explicit ShardOffsets(std::vector<uint64_t> begins) : begins_(std::move(begins)) {}

  const std::vector<uint64_t> begins_;  // one entry more than shards; begins_[0] == 0
};

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_SHARD_OFFSETS_H_
