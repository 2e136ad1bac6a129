// Builds a shard's index in one sequential pass.
#ifndef PENSTOCK_PIPELINE_SOURCES_INDEX_BUILDER_H_
#define PENSTOCK_PIPELINE_SOURCES_INDEX_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/file.h"
#include "pipeline/sources/compression.h"
#include "pipeline/sources/npy/row_windows.h"
#include "pipeline/sources/record_limits.h"
#include "pipeline/sources/shard_index.h"
#include "pipeline/sources/shard_kind.h"

namespace penstock::sources {

struct FileAccess;
class RecordSelection;
class RowFiles;

struct IndexOptions {
  // kAuto detects the compression by content.
  Compression compression = Compression::kAuto;
  // The container that each shard must have; nullopt: any (RecordWalker::Start).
  std::optional<ContainerKind> container = std::nullopt;
  RowWindows windows = {};  // arrays: the rows of a record
  // Manifests: the names in rows, and the files. Megatron's tokens need `files` for their .idx. Without them, the index
  // cannot be built.
  std::shared_ptr<const RowFiles> row_files = nullptr;
  std::shared_ptr<const FileAccess> files = nullptr;
  // A longer record is an error, reported before any allocation for it. At most kLargestMaxRecordBytes.
  uint64_t max_record_bytes = kDefaultMaxRecordBytes;
  // Whether to verify the CRC of each record's data too. If not, the data of large records in plain TFRecord shards is
  // not even read.
  bool verify_data = false;
  // Compressed shards: approximate distance between two restart points, in stream bytes. The builder doubles it until
  // the windows fit max_window_bytes. A read inflates at most about the final distance before its record.
  uint64_t restart_spacing = uint64_t{2} << 20;
  // Compressed shards: upper bound on the memory of all restart windows of a shard. The builder stops dropping points
  // when two are left, even if their windows are larger.
  uint64_t max_window_bytes = uint64_t{8} << 20;
  // Called about every 4 MiB and at the end of the walk, on the thread that walks. Receives the number of file bytes
  // that were read or skipped since the last call. May be empty.
  std::function<void(uint64_t bytes)> progress = {};
  // The records that the index has; null: all. BuildShardIndex ignores it.
  std::shared_ptr<const RecordSelection> selection = nullptr;
  // An index of this selection, perhaps of another state of the file. If the content hash of all records is still the
  // same, its records are the selected ones, and no record is read. May be null.
  std::shared_ptr<const ShardIndex> earlier = nullptr;
  // A stop request ends the walk after the current record, with Cancelled.
  std::stop_token stop = {};

  // Returns a number that identifies the windows, the names of fields and the selection among all indexes of a file; 0
  // without all of them.
  uint64_t variant() const;
};

// Walks the whole shard, verifies every length CRC of TFRecords and every header of tar, and returns the index.
//   DataLoss           the shard is damaged; the message names file, record, offset, the damage, and how many
//                      records before it are readable. Or the file is of a known other kind (IsOtherKindOfFile)
//   InvalidArgument    the shard has another container than options.container, or max_record_bytes is too large
//   NotFound           no row of a manifest has a file
//   ResourceExhausted  a record is longer than max_record_bytes, or there is no memory to inflate the shard
//   Aborted            the file changed during the read
//   Cancelled          options.stop
//   others             reading failed; from the file
absl::StatusOr<ShardIndex> BuildShardIndex(const RandomAccessFile& file, const IndexOptions& options = {});

// The content hash of a shard, which is the same in every release. Hashes the identities (RecordWalker::identity) in
// blocks of 4096 records with XXH64, and combines each block's hash with the hash so far. Finish() also hashes the
// number of records.
class ContentHasher {
 public:
  void Add(std::string_view identity);
  uint64_t Finish();

 private:
  void Flush();

  std::string block_;
  uint64_t state_ = 0;
  uint64_t records_ = 0;
};

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_INDEX_BUILDER_H_
