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
#include "pipeline/loader/damaged_copies.h"
#include "pipeline/loader/data_format.h"
#include "pipeline/loader/fetched_record.h"
#include "pipeline/sources/dataset_files.h"
#include "pipeline/sources/index_store.h"
#include "pipeline/sources/record_buffer.h"
#include "pipeline/sources/requested_features.h"
#include "pipeline/sources/shard_index.h"
#include "pipeline/sources/shard_reader.h"
#include "pipeline/sources/snapshot.h"
#include "pipeline/storage/file_errors.h"
#include "pipeline/storage/storage.h"

namespace penstock::loader {

using sources::RecordBuffer;

// Returns the index of a shard's current file: from a sidecar, from a fetched blob, or by building it. Blocks, perhaps
// for long. Returns Cancelled soon after a stop is requested. Each error names the file. Thread-safe.
//   FailedPrecondition  the file is not the snapshot's
//   Unavailable         the file or the index is temporarily unavailable
using IndexProvider = std::function<absl::StatusOr<std::shared_ptr<const sources::ShardIndex>>(
    const sources::SnapshotShard& shard, const std::string& absolute_path, const std::stop_token& stop)>;

// Returns the process's threads for work that blocks on storage or on other processes. They live until the process
// exits.
Executor* SlowWorkThreads();

// Receives a notification when a record's shard is ready.
class ReadyWaiter {
 public:
  virtual ~ReadyWaiter() = default;
  // Called once, on any thread. Must not block. A reference to `hold` keeps the shard's index in memory. `hold` is null
  // if the shard is known to be unavailable.
  virtual void OnReady(std::shared_ptr<const void> hold) = 0;
};

// Thread-safe. Opens shards at first use. Keeps a bounded number of shards open and a bounded size of indexes in
// memory, and evicts those that were not used recently.
//
// A file whose time changed is indexed again. If its content is the same, reads continue. Otherwise they return
// FailedPrecondition until the content is the snapshot's again.
class DatasetReader {
 public:
  struct Options {
    // 0: 4096, but at most an eighth of the process's limit on open files, and at least 256. 4096 is four times the
    // shards that a window of the default order reads. If fewer shards may be open than a window reads, most rows of a
    // larger data set open one file and close another.
    size_t max_open_shards = 0;
    uint64_t max_record_bytes = uint64_t{256} << 20;  // rejects a shard with a longer record
    uint64_t max_index_bytes = uint64_t{64} << 20;    // indexes in memory (ShardIndex)
    // Loads indexes, opens files, and fetches records by reads that block. Must outlive the reader and its loads. Null:
    // SlowWorkThreads().
    Executor* executor = nullptr;
    SetFeatures features = {};  // the features that records have
    bool selects = false;       // whether the snapshot has only selected records (ShardIndex::is_selected)
    std::shared_ptr<storage::FileErrors> file_errors = nullptr;  // receives the files that fail
    DamagedCopies::Log log_damage = nullptr;                     // gets a line for each file with damaged records
  };
  // `roots` are the configured data roots. `storage` holds the shards; it must outlive the reader and its loads.
  // Returns NotFound with the name of the root if `roots` lacks a root of the snapshot.
  static absl::StatusOr<std::shared_ptr<DatasetReader>> Create(storage::Storage* storage, sources::Snapshot snapshot,
                                                               std::vector<sources::DataRoot> roots,
                                                               IndexProvider indexes, const Options& options);
  virtual ~DatasetReader() = default;

  virtual const sources::Snapshot& snapshot() const = 0;
  // Returns the features that the records of each data set have.
  virtual const SetFeatures& features() const {
    static const SetFeatures kWhole;
    return kWhole;
  }

  // Returns whether the snapshot has only selected records, so that a record's number in its shard is known only from
  // the index.
  virtual bool selects() const { return false; }
  // Returns the number of the record among all records of its shard. Returns Aborted if the shard is not ready, and the
  // error of a shard that is known to be unavailable.
  virtual absl::StatusOr<uint64_t> NumberInShard(uint64_t record) { return snapshot().ToShard(record).record; }

  // Returns whether the shard of the record is ready: the calls below do not block to load its index or to open it.
  // Also true if the shard is known to be unavailable; the calls then return the reason.
  virtual bool IsReady(uint64_t record) { return true; }
  // Notifies `waiter` when the record is ready, perhaps inside the call, unless the waiter is destroyed before. Never
  // blocks.
  virtual void WhenReady(uint64_t record, std::shared_ptr<ReadyWaiter> waiter) { waiter->OnReady(nullptr); }

  // Returns the length of the record in bytes, from the index. With features, a record is the bytes that hold them.
  virtual absl::StatusOr<uint64_t> RecordBytes(uint64_t record) = 0;
  // Reads the record into `out`, which it resizes. Retries if that may help. Each error names the file:
  //   FailedPrecondition  the file is not the snapshot's: it changed
  //   ResourceExhausted   a record of the shard is longer than Options::max_record_bytes
  //   DataLoss            this machine's copy is damaged; names record and offset
  //   Unavailable         an I/O error of this machine
  //   Aborted             the file changed during each try
  virtual absl::Status ReadRecord(uint64_t record, std::string* out) = 0;
  // Does the same for the whole record, even if features() are set. In that case, it reads damaged bytes only once
  // more, and DamageOf() does not return the DataLoss.
  virtual absl::Status ReadWholeRecord(uint64_t record, std::string* out) { return ReadRecord(record, out); }
  // Does the same without a copy and without a retry. Returns the record's bytes in `buffer`, valid until its next use.
  //   Aborted, Unavailable  retry when the record is ready. Aborted: the file changed and must be indexed again
  //   DataLoss              CRC or framing is wrong in this read; FetchRecord() with that damage returns the verdict
  virtual absl::StatusOr<std::string_view> ReadRecord(uint64_t record, RecordBuffer* buffer) = 0;
  // Returns whether ReadRecord normally takes no longer than a read from the page cache. Otherwise a row's thread
  // starts FetchRecord and makes other rows meanwhile. May change while rows are made.
  virtual bool HasLowLatency() const { return true; }
  // Reads the record fetched->record into `fetched`. Calls `done` once: inside the call, on a thread of the storage, or
  // on Options::executor. fetched->bytes then has the result of ReadRecord, or Cancelled if `options` stopped the read.
  // Never blocks. Returns false, and does not call `done`, if the shard is not open. If fetched->damage is set, it
  // reads the record up to twice more, past all caches. If DamageOf() has the damage already, it only checks whether
  // the file has changed. fetched->bytes is then
  //   a record     one read was right
  //   DataLoss     the copy is damaged: all reads returned the same wrong bytes. DamageOf() returns this from then on
  //   Unavailable  the wrong reads differ, or a read failed: retry
  //   Aborted      the file has changed: retry when the record is ready
  // A data set without storage cannot read past caches: its first read is the verdict.
  virtual bool FetchRecord(std::shared_ptr<FetchedRecord> fetched, const storage::CallOptions& options, Task done) {
    if (fetched->damage.ok()) return false;
    fetched->bytes = fetched->damage;
    std::move(done)();
    return true;
  }
  // Returns the known damage of this machine's copy of the record. Cheap while no copy is damaged.
  virtual DamagedCopies::Known DamageOf(uint64_t record) { return {}; }
  // Returns DamagedCopies::Lines(), for `status`.
  virtual std::vector<std::string> DamageLines(size_t most) const { return {}; }
  // Returns the reader for ranges of records of the shard. Never blocks. Returns null if
  //   - storage has low latency
  //   - the shard is not open or does not support ranges
  //   - features() omits too many bytes of the records, because ranges hold whole records
  virtual std::shared_ptr<const sources::ShardReader> ReaderOfRanges(uint32_t shard) { return nullptr; }
  // Returns the record in `frame`, which `reader` read, as a part of `frame` or of `with_head`
  // (sources::ShardReader::RecordOf), and may change `frame`. Errors are those of ReadRecord.
  virtual absl::StatusOr<std::string_view> RecordOfRange(uint64_t record, const sources::ShardReader& reader,
                                                         char* frame, RecordBuffer* with_head) {
    return absl::UnimplementedError("no ranges");
  }
  // Returns the reader for small records with their neighbors. Returns null if the records of the shard do not follow
  // each other in their file, it cannot be opened, or storage has high latency. Blocks as ReadRecord does.
  virtual std::shared_ptr<const sources::ShardReader> ReaderOfNeighbors(uint32_t shard) { return nullptr; }
  // Returns the record whose stored bytes are at `stored`, which `reader` read. Copies it into `buffer`. Errors are
  // those of ReadRecord.
  virtual absl::StatusOr<std::string_view> RecordOfNeighbors(uint64_t record, const sources::ShardReader& reader,
                                                             const char* stored, RecordBuffer* buffer) {
    return absl::UnimplementedError("no neighbors");
  }
  // Announces that the record will be read soon. If its shard is open, storage may fetch the record. Otherwise, starts
  // to load the shard. Never blocks.
  virtual void WillRead(uint64_t record) = 0;
  // Returns "path, record 12 at offset 3456", for messages; without the offset if OffsetOf() does not know it.
  virtual std::string Describe(uint64_t record) = 0;
  // Returns the offset of the record in its file, or in the decompressed content of a compressed file, if it is known.
  virtual std::optional<uint64_t> OffsetOf(uint64_t record) { return std::nullopt; }
  virtual uint64_t bytes_read() const = 0;  // framed bytes of all records read
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_DATASET_READER_H_
