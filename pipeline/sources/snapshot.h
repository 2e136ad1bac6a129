// The data that a job reads, frozen when the job is submitted.
#ifndef PENSTOCK_PIPELINE_SOURCES_SNAPSHOT_H_
#define PENSTOCK_PIPELINE_SOURCES_SNAPSHOT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pipeline/plan/record_groups.h"
#include "pipeline/sources/shard_index.h"
#include "pipeline/sources/shard_kind.h"

namespace penstock::sources {

// A part of the records of an index: first, first + stride, ...
struct RecordSlice {
  uint64_t of = 0;  // records of the index
  uint64_t first = 0;
  uint64_t stride = 1;

  bool operator==(const RecordSlice&) const = default;
};

struct SnapshotShard {
  std::string root;           // name of the data root
  std::string relative_path;  // below it
  uint64_t size = 0;          // bytes of the file
  uint64_t record_count = 0;
  uint64_t content_hash = 0;  // ShardIndex::content_hash, of the index before its slice
  uint64_t data_bytes = 0;    // data of all records, without frames; an estimate for a slice
  ContainerKind container = ContainerKind::kTfRecord;
  std::optional<RecordSlice> slice = {};  // the records of the index that the snapshot has; none: all
  plan::ShardGroups groups = {};          // groups of the records, in a balanced data set
  uint32_t set = 0;                       // number of the data set; Snapshot::Create() sets it

  // Returns the number of records of the index.
  uint64_t indexed_records() const { return slice ? slice->of : record_count; }
  // Keeps only the index's `count` records first, first + stride and so on. Call it at most once.
  void Slice(uint64_t first, uint64_t stride, uint64_t count);

  bool operator==(const SnapshotShard&) const = default;
};

// A place in a snapshot: record number `record` of shard number `shard`.
struct RecordRef {
  uint32_t shard = 0;
  uint64_t record = 0;

  bool operator==(const RecordRef&) const = default;
};

// Immutable and safe to read from many threads. Records are numbered 0 .. total_records()-1 through the shards in
// order.
class Snapshot {
 public:
  Snapshot() = default;
  // If data sets have names, `set_shards` has the number of shards of each; the sets follow each other. `group_names`
  // are the groups of a balanced data set, ascending; GroupMap checks those of the shards. Returns InvalidArgument
  // unless the shards of a set are strictly ascending by the bytes of (root, relative_path), the shards of a set have
  // one container, slices are inside their indexes of up to 2^32 records, no shard has a slice and groups, and there
  // are fewer than 2^31 shards and 2^62 records.
  static absl::StatusOr<Snapshot> Create(std::vector<SnapshotShard> shards, std::vector<uint32_t> set_shards = {},
                                         std::vector<std::string> group_names = {});

  const std::vector<SnapshotShard>& shards() const { return shards_; }
  // Returns the number of shards of each data set with a name.
  const std::vector<uint32_t>& set_shards() const { return set_shards_; }
  // Returns the groups of a balanced data set's records, or none.
  plan::RecordGroups Groups() const;
  // Returns the containers of the data sets' shards, one for each data set, and at least one. A set without shards
  // has kTfRecord.
  const std::vector<ContainerKind>& containers() const { return containers_; }
  uint64_t total_records() const { return starts_.back(); }
  uint64_t data_bytes() const { return data_bytes_; }
  // starts()[s] is the number of the first record of shard s. The vector has one more entry than shards; the last is
  // the total.
  const std::vector<uint64_t>& starts() const { return starts_; }

  // Returns the place of a record. record < total_records(). The time does not depend on the number of shards if they
  // have similar sizes. It is at most O(log shards).
  RecordRef ToShard(uint64_t record) const;
  // The inverse of ToShard. Requires an existing shard and record.
  uint64_t ToGlobal(RecordRef ref) const { return starts_[ref.shard] + ref.record; }

  // Returns a fingerprint that is equal exactly if root, path, record count, content hash and slice of every shard, and
  // the shards of each data set, are equal.
  // It ignores file sizes and mtimes, because recompressed shards hold the same records. The same in every release.
  uint64_t Fingerprint() const;
  // Returns a fingerprint of the records of a data set, in their order: of counts, content hashes and slices, not of
  // names. The same in every release.
  uint64_t ContentOfSet(uint32_t set) const;

 private:
  void FillPlaces();

  std::vector<SnapshotShard> shards_;
  std::vector<uint32_t> set_shards_;
  std::vector<std::string> group_names_;
  std::vector<ContainerKind> containers_ = {ContainerKind::kTfRecord};
  std::vector<uint64_t> starts_ = {0};
  // Records are divided into runs of 2^shift_ records, at most twice as many as shards. places_[r] is the shard of run
  // r's first record. There is one more entry than runs; the last is the last shard.
  std::vector<uint32_t> places_;
  int shift_ = 0;
  uint64_t data_bytes_ = 0;
};

// Returns the index of the records that the snapshot has of a shard: `index`, or its slice. `index` must have
// shard.indexed_records() records.
std::shared_ptr<const ShardIndex> SlicedIndex(const SnapshotShard& shard, std::shared_ptr<const ShardIndex> index);

// Returns FailedPrecondition: the file at `path` is not the one of the snapshot. `why` describes the difference. The
// message also has the remedy.
absl::Status ChangedFile(absl::string_view path, absl::string_view why);

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_SNAPSHOT_H_
