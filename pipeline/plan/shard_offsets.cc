#include "pipeline/plan/shard_offsets.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "pipeline/plan/permutation.h"

namespace penstock::plan {

absl::StatusOr<std::shared_ptr<const ShardOffsets>> ShardOffsets::Create(const std::vector<uint64_t>& counts) {
  std::vector<uint64_t> begins;
  begins.reserve(counts.size() + 1);
  begins.push_back(0);
  for (const uint64_t count : counts) {
    if (count > Permutation::kMaxSize - begins.back()) {
      return absl::InvalidArgumentError(
          absl::StrCat("shard ", begins.size() - 1, " of ", counts.size(), " with ", count,
                       " records makes the snapshot larger than 2^62 records; its index is wrong"));
    }
    begins.push_back(begins.back() + count);
  }
  return std::shared_ptr<const ShardOffsets>(new ShardOffsets(std::move(begins)));
}

Location ShardOffsets::Locate(uint64_t record) const {
  // The last shard that begins at or before the record. Empty shards before it begin at the same number.
  const auto next = std::upper_bound(begins_.begin(), begins_.end(), record);
  const auto shard = static_cast<uint64_t>(next - begins_.begin()) - 1;
  return {shard, record - begins_[shard]};
}

}  // namespace penstock::plan
