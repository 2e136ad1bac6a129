// The records of one snapshot, by their global number, from the files below the data roots.
#ifndef PENSTOCK_PIPELINE_LOADER_DATASET_READER_H_
#define PENSTOCK_PIPELINE_LOADER_DATASET_READER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/records/dataset_files.h"
#include "pipeline/records/index_store.h"
#include "pipeline/records/shard_index.h"
#include "pipeline/records/snapshot.h"

namespace penstock {

// Memory that one thread reads records into, kept from record to record: neither zeroed nor moved.
class RecordBuffer {
 public:
  // At least `bytes` bytes, with what they happen to hold.
  char* Get(size_t bytes) {
    if (bytes > capacity_) {
      block_.reset();
      capacity_ = bytes + bytes / 4;  // the next one is often a little larger
      block_ = std::make_unique_for_overwrite<char[]>(capacity_);
    }
    return block_.get();
  }
  size_t capacity() const { return capacity_; }
  void Clear() {
    block_.reset();
    capacity_ = 0;
  }

 private:
  std::unique_ptr<char[]> block_;
  size_t capacity_ = 0;
};

// Finds the index of a shard: a sidecar, a blob fetched from elsewhere, or a fresh build. Thread-safe.
using IndexProvider = std::function<absl::StatusOr<std::shared_ptr<const ShardIndex>>(
    const SnapshotShard& shard, const std::string& absolute_path)>;

// Thread-safe. Opens shards at first use and keeps a bounded number of them open, and of indexes in memory; those that
// were not used for longest are closed.
class DatasetReader {
 public:
  struct Options {
    size_t max_open_shards = 256;
    uint64_t max_record_bytes = uint64_t{256} << 20;  // a shard with a longer record is refused
    uint64_t max_index_bytes = uint64_t{64} << 20;    // of indexes kept beside open shards; about 4 per record
  };
  // `roots` are the configured data roots. NotFound names a root of the snapshot that is not among them.
  static absl::StatusOr<std::shared_ptr<DatasetReader>> Create(Snapshot snapshot, std::vector<DataRoot> roots,
                                                               IndexProvider indexes, const Options& options);
  virtual ~DatasetReader() = default;

  virtual const Snapshot& snapshot() const = 0;

  // Bytes of the record, from the index (which is loaded if need be).
  virtual absl::StatusOr<uint64_t> RecordBytes(uint64_t record) = 0;
  // Reads the record into `out` (resized). FailedPrecondition: the file is not the snapshot's (it changed).
  // DataLoss: CRC or framing. Unavailable: an I/O error of this machine. Each names file, record and offset.
  virtual absl::Status ReadRecord(uint64_t record, std::string* out) = 0;
  // The same without a copy: the record's bytes, in `buffer`, until it is used again.
  virtual absl::StatusOr<std::string_view> ReadRecord(uint64_t record, RecordBuffer* buffer) = 0;
  // The record will be read soon: storage may begin to bring it. Does not wait; nothing where its shard is not open.
  virtual void WillRead(uint64_t record) = 0;
  // "path, record 12 at offset 3456": for messages.
  virtual std::string Describe(uint64_t record) = 0;
  virtual uint64_t bytes_read() const = 0;  // framed, of records that were read
};

// Indexes from sidecars, or built (and saved) where there is none. Kept by the caller's copies.
IndexProvider IndexesFrom(IndexStore store, IndexOptions options);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_DATASET_READER_H_
