// The data that a job reads, frozen when the job is submitted.
#ifndef PENSTOCK_PIPELINE_SOURCES_SNAPSHOT_H_
#define PENSTOCK_PIPELINE_SOURCES_SNAPSHOT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pipeline/sources/shard_kind.h"

namespace penstock::sources {

struct SnapshotShard {
  std::string root;           // name of the data root
  std::string relative_path;  // below it
  uint64_t size = 0;          // bytes of the file
  uint64_t record_count = 0;
  uint64_t content_hash = 0;  // ShardIndex::content_hash
  uint64_t data_bytes = 0;    // data of all records, without frames
  ContainerKind container = ContainerKind::kTfRecord;

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
  // Returns InvalidArgument unless `shards` are strictly ascending by the bytes of (root, relative_path), all have one
  // container, and there are fewer than 2^31 shards and 2^62 records.
  static absl::StatusOr<Snapshot> Create(std::vector<SnapshotShard> shards);

  const std::vector<SnapshotShard>& shards() const { return shards_; }
  // Returns the container of all shards; kTfRecord if there are none.
  ContainerKind container() const { return shards_.empty() ? ContainerKind::kTfRecord : shards_[0].container; }
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

  // Returns a fingerprint that is equal exactly if root, path, record count and content hash of every shard are equal.
  // It ignores file sizes and mtimes, because recompressed shards hold the same records. The same in every release.
  uint64_t Fingerprint() const;

 private:
  void FillPlaces();

  std::vector<SnapshotShard> shards_;
  std::vector<uint64_t> starts_ = {0};
  // Records are divided into runs of 2^shift_ records, at most twice as many as shards. places_[r] is the shard of run
  // r's first record. There is one more entry than runs; the last is the last shard.
  std::vector<uint32_t> places_;
  int shift_ = 0;
  uint64_t data_bytes_ = 0;
};

// Returns FailedPrecondition: the file at `path` is not the one of the snapshot. `why` describes the difference. The
// message also has the remedy.
absl::Status ChangedFile(absl::string_view path, absl::string_view why);

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_SNAPSHOT_H_
