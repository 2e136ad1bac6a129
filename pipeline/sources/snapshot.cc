#include "pipeline/sources/snapshot.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/hash.h"
#include "pipeline/sources/container.h"

namespace penstock::sources {
namespace {

constexpr size_t kMaxShards = std::numeric_limits<int32_t>::max();
constexpr uint64_t kMaxRecords = uint64_t{1} << 62;

// Returns whether the shard has no slice, or one inside its index.
bool SliceFits(const SnapshotShard& shard) {
  if (!shard.slice || shard.record_count == 0) return true;
  const RecordSlice& slice = *shard.slice;
  return slice.of <= UINT32_MAX && slice.stride > 0 && slice.first < slice.of && shard.record_count <= slice.of &&
         shard.record_count - 1 <= (slice.of - 1 - slice.first) / slice.stride;
}

}  // namespace

void SnapshotShard::Slice(uint64_t first, uint64_t stride, uint64_t count) {
  if (count == record_count) return;
  slice = RecordSlice{.of = record_count, .first = first, .stride = stride};
  const double part = static_cast<double>(count) / static_cast<double>(record_count);
  data_bytes = static_cast<uint64_t>(part * static_cast<double>(data_bytes));
  record_count = count;
}

std::shared_ptr<const ShardIndex> SlicedIndex(const SnapshotShard& shard, std::shared_ptr<const ShardIndex> index) {
  if (!shard.slice) return index;
  std::vector<uint32_t> numbers;
  numbers.reserve(shard.record_count);
  for (uint64_t k = 0; k < shard.record_count; ++k) {
    numbers.push_back(static_cast<uint32_t>(shard.slice->first + k * shard.slice->stride));
  }
  return std::make_shared<const ShardIndex>(index->Selected(numbers, index->left_out()));
}

absl::StatusOr<Snapshot> Snapshot::Create(std::vector<SnapshotShard> shards, std::vector<uint32_t> set_shards,
                                          std::vector<std::string> group_names) {
  if (shards.size() > kMaxShards) {
    return absl::InvalidArgumentError(
        absl::StrCat("a snapshot of ", shards.size(), " shards; at most ", kMaxShards, " are possible"));
  }
  uint64_t in_sets = 0;
  for (size_t set = 0; set < set_shards.size(); ++set) {
    const uint64_t end = in_sets + set_shards[set];
    for (uint64_t s = in_sets; s < end && s < shards.size(); ++s) shards[s].set = static_cast<uint32_t>(set);
    in_sets = end;
  }
  if (!set_shards.empty() && in_sets != shards.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the data sets have ", in_sets, " shards, and the snapshot has ", shards.size()));
  }
  Snapshot snapshot;
  snapshot.starts_.reserve(shards.size() + 1);
  size_t first_of_set = 0;
  for (size_t s = 0; s < shards.size(); ++s) {
    const SnapshotShard& shard = shards[s];
    if (s > 0 && shards[s - 1].set == shard.set &&
        std::tie(shards[s - 1].root, shards[s - 1].relative_path) >= std::tie(shard.root, shard.relative_path)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the shards of a snapshot must ascend by the bytes of (root, path), each once; ", shard.root,
                       ":", shard.relative_path, " follows ", shards[s - 1].root, ":", shards[s - 1].relative_path));
    }
    if (s > 0 && shards[s - 1].set != shard.set) first_of_set = s;
    const SnapshotShard& first = shards[first_of_set];
    if (shard.container != first.container) {
      const auto name = [](const SnapshotShard& of) {
        const std::string_view noun = Container::Of(of.container).FileNoun();
        return absl::StrCat(of.root, ":", of.relative_path, " is ", absl::string_view(noun.data(), noun.size()));
      };
      return absl::InvalidArgumentError(absl::StrCat("dataset[", shard.set, "].files: ", name(first), ", and ",
                                                     name(shard), "; the shards of a data set must be of one kind"));
    }
    if (!SliceFits(shard)) {
      return absl::InvalidArgumentError(
          absl::StrCat("shard ", shard.root, ":", shard.relative_path, " has ", shard.slice->of,
                       " records; a selection that counts records reads ", "shards of up to ", UINT32_MAX));
    }
    if (shard.slice && !shard.groups.groups.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("shard ", shard.root, ":", shard.relative_path,
                                                     " has groups of records, and a part of its index"));
    }
    const uint64_t before = snapshot.starts_.back();
    if (shard.record_count >= kMaxRecords - before) {
      return absl::InvalidArgumentError(
          absl::StrCat("shard ", shard.root, ":", shard.relative_path, " makes the snapshot larger than 2^62 records"));
    }
    snapshot.starts_.push_back(before + shard.record_count);
    snapshot.data_bytes_ += shard.data_bytes;
  }
  snapshot.containers_.assign(std::max<size_t>(1, set_shards.size()), ContainerKind::kTfRecord);
  for (const SnapshotShard& shard : shards) snapshot.containers_[shard.set] = shard.container;
  snapshot.shards_ = std::move(shards);
  snapshot.set_shards_ = std::move(set_shards);
  snapshot.group_names_ = std::move(group_names);
  snapshot.FillPlaces();
  return snapshot;
}

plan::RecordGroups Snapshot::Groups() const {
  plan::RecordGroups groups{group_names_, {}};
  if (groups.empty()) return groups;
  for (const SnapshotShard& shard : shards_) groups.shards.push_back(shard.groups);
  return groups;
}

void Snapshot::FillPlaces() {
  if (total_records() == 0) return;
  const uint64_t last = total_records() - 1;
  while ((last >> shift_) >= 2 * shards_.size()) ++shift_;
  places_.reserve((last >> shift_) + 2);
  uint32_t shard = 0;
  for (uint64_t run = 0; run <= last >> shift_; ++run) {
    while (starts_[shard + 1] <= run << shift_) ++shard;
    places_.push_back(shard);
  }
  places_.push_back(static_cast<uint32_t>(shards_.size() - 1));
}

RecordRef Snapshot::ToShard(uint64_t record) const {
  PS_CHECK(record < total_records());
  // The last shard that starts at or before the record. Empty shards start where the next one does.
  const uint32_t* const place = &places_[record >> shift_];
  const auto after = std::upper_bound(starts_.begin() + place[0] + 1, starts_.begin() + place[1] + 1, record);
  const size_t shard = static_cast<size_t>(after - starts_.begin()) - 1;
  return {static_cast<uint32_t>(shard), record - starts_[shard]};
}

uint64_t Snapshot::Fingerprint() const {
  penstock::Fingerprint print;
  print.Add(std::string_view("penstock snapshot 1")).Add(shards_.size());
  for (const SnapshotShard& shard : shards_) {
    print.Add(std::string_view(shard.root)).Add(std::string_view(shard.relative_path));
    print.Add(shard.record_count).Add(shard.content_hash);
    if (shard.slice) print.Add(shard.slice->of).Add(shard.slice->first).Add(shard.slice->stride);
  }
  for (const uint32_t count : set_shards_) print.Add(count);
  return print.value();
}

uint64_t Snapshot::ContentOfSet(uint32_t set) const {
  penstock::Fingerprint print;
  print.Add(std::string_view("penstock set 1"));
  const auto is_before = [](const SnapshotShard& shard, uint32_t number) { return shard.set < number; };
  for (auto it = std::lower_bound(shards_.begin(), shards_.end(), set, is_before);
       it != shards_.end() && it->set == set; ++it) {
    const SnapshotShard& shard = *it;
    print.Add(shard.record_count).Add(shard.content_hash);
    if (shard.slice) print.Add(shard.slice->of).Add(shard.slice->first).Add(shard.slice->stride);
  }
  return print.value();
}

absl::Status ChangedFile(absl::string_view path, absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": this is not the file that the job was submitted with: ", why,
                   "; put the old file back (the job then continues by itself), or submit the job with --replace"));
}

}  // namespace penstock::sources
