#include "pipeline/loader/check_keys.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "pipeline/augment/features/key_check.h"
#include "pipeline/loader/data_format.h"

namespace penstock::loader {
namespace {

constexpr uint64_t kShards = 8, kRecords = 32, kBytes = uint64_t{64} << 20;

std::string Counted(uint64_t count, const std::string& noun) {
  return count == 1 ? absl::StrCat("the first ", noun) : absl::StrCat("the first ", count, " ", noun, "s");
}

// Adds up to `count` records from `first` on to the check.
absl::Status AddRecords(DatasetReader* reader, uint64_t first, uint64_t count, augment::KeyCheck* check) {
  std::string record;
  uint64_t bytes = 0;
  for (uint64_t k = 0; k < count && bytes < kBytes && !check->AllFound(); ++k) {
    const absl::Status read = reader->ReadWholeRecord(first + k, &record);
    if (absl::IsDataLoss(read)) continue;
    PS_RETURN_IF_ERROR(read);
    bytes += record.size();
    check->Add(record);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckKeys(const v1::JobSpec& job, DatasetReader* reader) {
  PS_ASSIGN_OR_RETURN(const v1::JobSpec spec, WithFormatOf(reader->snapshot().container(), job));
  augment::KeyCheck check(spec);
  const auto& shards = reader->snapshot().shards();
  std::vector<uint64_t> firsts = {0};  // number of each shard's first record
  for (const sources::SnapshotShard& shard : shards) firsts.push_back(firsts.back() + shard.record_count);
  const uint64_t count = std::min<uint64_t>(kShards, shards.size());
  uint64_t looked_at = 0;
  for (uint64_t i = 0; i < count && !check.AllFound(); ++i) {
    const size_t shard = count == 1 ? 0 : i * (shards.size() - 1) / (count - 1);
    const uint64_t records_before = check.records();
    PS_RETURN_IF_ERROR(AddRecords(reader, firsts[shard], std::min(kRecords, shards[shard].record_count), &check));
    if (check.records() > records_before) ++looked_at;
  }
  if (check.AllFound() || check.records() == 0) return absl::OkStatus();
  const std::string where = absl::StrCat(Counted(check.records(), "record"), " of ", looked_at,
                                         looked_at == 1 ? " shard" : " shards", " (from ", reader->Describe(0), " on)");
  return absl::InvalidArgumentError(absl::StrJoin(check.Mistakes(where), "\n"));
}

}  // namespace penstock::loader
