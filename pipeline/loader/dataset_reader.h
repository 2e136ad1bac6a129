// The records of one snapshot, by their global number, from the files below the data roots.
#ifndef PENSTOCK_PIPELINE_LOADER_DATASET_READER_H_
#define PENSTOCK_PIPELINE_LOADER_DATASET_READER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/runtime/executor.h"
#include "pipeline/loader/brought_record.h"
#include "pipeline/records/dataset_files.h"
#include "pipeline/records/index_store.h"
#include "pipeline/records/shard_index.h"
#include "pipeline/records/shard_reader.h"
#include "pipeline/records/snapshot.h"
#include "pipeline/storage/file_troubles.h"
#include "pipeline/storage/files.h"

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

// Finds the index of a shard as its file is now: a sidecar, a blob fetched from elsewhere, or a fresh build. May take
// long; ends soon, with Cancelled, when a stop is requested. Thread-safe.
//   FailedPrecondition  the file is not the snapshot's
//   Unavailable         it cannot be had just now
using IndexProvider = std::function<absl::StatusOr<std::shared_ptr<const ShardIndex>>(
    const SnapshotShard& shard, const std::string& absolute_path, const std::stop_token& stop)>;

// The process's threads for what waits for storage and for others; live for ever.
Executor* SlowWorkThreads();

// Told when a record's shard is ready.
class ReadyWaiter {
 public:
  virtual ~ReadyWaiter() = default;
  // Once, on any thread; is short. `hold` keeps the shard ready for as long as somebody has it.
  virtual void OnReady(std::shared_ptr<const void> hold) = 0;
};

// Thread-safe. Opens shards at first use and keeps a bounded number of them open, and of indexes in memory; those that
// were not used for longest are closed.
//
// A file whose time changed is indexed again: with the same content reading goes on, with another it is
// FailedPrecondition until the content is the snapshot's again.
class DatasetReader {
 public:
  struct Options {
    // 0: what a window of the default order touches, four times over, and at most an eighth of what the process may
    // open (4096; at least 256). With fewer than a window touches, most rows of a set of more shards open a file and
    // close one.
    size_t max_open_shards = 0;
    uint64_t max_record_bytes = uint64_t{256} << 20;  // a shard with a longer record is refused
    uint64_t max_index_bytes = uint64_t{64} << 20;    // of indexes kept beside open shards; about 4 per record
    // Each outlives the reader, and the loads that it has begun.
    Storage* storage = AnyFiles();
    Executor* executor = nullptr;  // where indexes are brought and files opened; null: SlowWorkThreads()
    std::shared_ptr<FileTroubles> troubles = nullptr;  // told of files that fail
  };
  // `roots` are the configured data roots. NotFound names a root of the snapshot that is not among them.
  static absl::StatusOr<std::shared_ptr<DatasetReader>> Create(Snapshot snapshot, std::vector<DataRoot> roots,
                                                               IndexProvider indexes, const Options& options);
  virtual ~DatasetReader() = default;

  virtual const Snapshot& snapshot() const = 0;

  // Whether the calls below do not wait for the shard of the record: for its index, say. Also when it is known that
  // it cannot be had: they then say why.
  virtual bool IsReady(uint64_t record) { return true; }
  // `waiter` is told when it is ready (perhaps at once, inside the call), unless it is destroyed before. Never blocks.
  virtual void WhenReady(uint64_t record, std::shared_ptr<ReadyWaiter> waiter) { waiter->OnReady(nullptr); }

  // Bytes of the record, from the index.
  virtual absl::StatusOr<uint64_t> RecordBytes(uint64_t record) = 0;
  // Reads the record into `out` (resized). FailedPrecondition: the file is not the snapshot's (it changed).
  // DataLoss: CRC or framing. Unavailable: an I/O error of this machine. Each names file, record and offset.
  virtual absl::Status ReadRecord(uint64_t record, std::string* out) = 0;
  // The same without a copy, and without another try: the record's bytes, in `buffer`, until it is used again.
  // Aborted: the file changed and must be looked at; like Unavailable, try again when the record is ready.
  virtual absl::StatusOr<std::string_view> ReadRecord(uint64_t record, RecordBuffer* buffer) = 0;
  // Whether ReadRecord takes no longer, when all is well, than a page cache does. Else a row's thread has the record
  // brought, and does something else meanwhile. May change while rows are made.
  virtual bool ReadsAtOnce() const { return true; }
  // Reads the record of brought->record into it: what ReadRecord would return is in brought->bytes when `done` is
  // called, once, perhaps inside the call, or on a thread of the storage. Never blocks. False, and `done` is not
  // called: the shard is not ready.
  virtual bool BringRecord(std::shared_ptr<BroughtRecord> brought, const CallOptions& options, Task done) {
    return false;
  }
  // What records of the shard can be read with several at once; null: it is not open, or is one that they cannot. Never
  // waits.
  virtual std::shared_ptr<const ShardReader> ReaderOfRanges(uint32_t shard) { return nullptr; }
  // The record, whose frame was read by that reader, as ReadRecord returns it: a part of `frame`.
  virtual absl::StatusOr<std::string_view> RecordOfRange(uint64_t record, const ShardReader& reader,
                                                         const char* frame) {
    return absl::UnimplementedError("no ranges");
  }
  // The record will be read soon: storage may begin to bring it, and what its shard needs. Never waits.
  virtual void WillRead(uint64_t record) = 0;
  // "path, record 12 at offset 3456": for messages.
  virtual std::string Describe(uint64_t record) = 0;
  // Where the record begins in its file (of a compressed one: in what it holds), while that is known.
  virtual std::optional<uint64_t> OffsetOf(uint64_t record) { return std::nullopt; }
  virtual uint64_t bytes_read() const = 0;  // framed, of records that were read
};

// Indexes from sidecars, or built (and saved) where there is none. Kept by the caller's copies.
IndexProvider IndexesFrom(IndexStore store, IndexOptions options);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_DATASET_READER_H_
