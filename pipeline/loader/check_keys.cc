#include "pipeline/loader/check_keys.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/status_place.h"
#include "pipeline/augment/features/key_check.h"
#include "pipeline/loader/data_format.h"
#include "pipeline/plan/job_dataset.h"

namespace penstock::loader {
namespace {

constexpr uint64_t kShards = 8, kRecords = 32, kBytes = uint64_t{64} << 20;

std::string Counted(uint64_t count, const std::string& noun) {
  return count == 1 ? absl::StrCat("the first ", noun) : absl::StrCat("the first ", count, " ", noun, "s");
}

// Adds up to kRecords records of a shard to the check: its first ones or, if it has groups, evenly spaced ones. The
// first ones would be those with the least value.
absl::Status AddRecords(DatasetReader* reader, size_t shard, augment::KeyCheck* check) {
  const sources::Snapshot& snapshot = reader->snapshot();
  const sources::SnapshotShard& of = snapshot.shards()[shard];
  const uint64_t count = std::min(kRecords, of.record_count);
  std::string record;
  uint64_t bytes = 0;
  for (uint64_t k = 0; k < count && bytes < kBytes && !check->AllFound(); ++k) {
    const uint64_t number = of.groups.groups.empty() ? k : k * (of.record_count / count);
    const uint64_t wanted = snapshot.starts()[shard] + number;
    // The keys of a manifest are in its rows, so a job that needs no file reads none.
    const absl::Status read = sources::NamesFiles(of.container) ? reader->ReadRecord(wanted, &record)
                                                                : reader->ReadWholeRecord(wanted, &record);
    if (absl::IsDataLoss(read)) continue;
    PS_RETURN_IF_ERROR(read);
    bytes += record.size();
    check->Add(record);
  }
  return absl::OkStatus();
}

// Checks the keys of a job of one data set, in `most` of its shards, `count` from number `first` on.
absl::Status CheckSet(const v1::JobSpec& spec, DatasetReader* reader, size_t first, size_t count, uint64_t most) {
  augment::KeyCheck check(spec);
  const sources::Snapshot& snapshot = reader->snapshot();
  most = std::min<uint64_t>(most, count);
  uint64_t looked_at = 0;
  for (uint64_t i = 0; i < most && !check.AllFound(); ++i) {
    const size_t shard = first + (most == 1 ? 0 : i * (count - 1) / (most - 1));
    const uint64_t records_before = check.records();
    PS_RETURN_IF_ERROR(AddRecords(reader, shard, &check));
    if (check.records() > records_before) ++looked_at;
  }
  if (check.AllFound() || check.records() == 0) return absl::OkStatus();
  const bool spread = !snapshot.shards()[first].groups.groups.empty();  // AddRecords()
  const std::string where = absl::StrCat(
      spread ? absl::StrCat(check.records(), " records") : Counted(check.records(), "record"), " of ", looked_at,
      looked_at == 1 ? " shard" : " shards", " (from ", reader->Describe(snapshot.starts()[first]), " on)");
  return absl::InvalidArgumentError(absl::StrJoin(check.Mistakes(where), "\n"));
}

}  // namespace

absl::Status CheckKeys(const v1::JobSpec& job, DatasetReader* reader) {
  const sources::Snapshot& snapshot = reader->snapshot();
  const std::vector<sources::ContainerKind>& containers = snapshot.containers();
  PS_ASSIGN_OR_RETURN(const std::vector<v1::JobSpec> jobs, JobsWithFormats(containers, job));
  const bool same = std::none_of(job.dataset().begin(), job.dataset().end(), plan::HasOwnColumns) &&
                    std::all_of(jobs.begin(), jobs.end(), [&](const v1::JobSpec& each) {
                      return plan::DatasetOf(each).format() == plan::DatasetOf(jobs[0]).format();
                    });
  if (same || jobs.size() == 1) return CheckSet(jobs[0], reader, 0, snapshot.shards().size(), kShards);
  size_t first = 0;
  for (size_t set = 0; set < jobs.size(); ++set) {
    const size_t count = snapshot.set_shards()[set];
    const absl::Status checked =
        CheckSet(jobs[set], reader, first, count, std::max<uint64_t>(1, kShards / jobs.size()));
    if (!checked.ok()) return AtPlace(absl::StrCat("data set ", jobs[set].dataset(0).name()), checked);
    first += count;
  }
  return absl::OkStatus();
}

}  // namespace penstock::loader
