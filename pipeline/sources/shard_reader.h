// Reads any record of an indexed shard.
#ifndef PENSTOCK_PIPELINE_SOURCES_SHARD_READER_H_
#define PENSTOCK_PIPELINE_SOURCES_SHARD_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "base/mutex.h"
#include "pipeline/sources/shard_index.h"
#include "pipeline/storage/storage.h"

namespace penstock::sources {

class Container;
class InflateStream;
class RecordBuffer;
class RequestedFeatures;
struct ByteRange;
struct FileAccess;

struct ShardReaderOptions {
  // Compressed shards: the number of stream positions kept between reads, so that sequential reads need no restart.
  // Each takes about 112 KiB. With 0, every read starts at a restart point.
  size_t max_cursors = 4;
  // Manifests: where the files of their records are. Without it, reads of files fail.
  std::shared_ptr<const FileAccess> files = nullptr;
};

// Thread-safe. One object per shard serves all threads. A read with `features` reads only the ranges that hold them,
// and its result is the bytes of these ranges. With null, it reads the whole record. Results of reads, besides OK:
//   DataLoss            the read of the record is damaged (damage.h): a CRC or the compressed data there is wrong, or
//                       the file ends early. The message names file, record and offset. Other records may be readable.
//   FailedPrecondition  blocking reads: the file is no longer the indexed one (size, mtime or tag); index it again
//   Aborted             the file changed since it was opened
//   OutOfRange          the shard has no such record
//   others              reading failed (from the file); a retry may succeed
//
// If the index is packed, record k is its row k: the records of the row in the bytes of pack_frame.h. An error is that
// of the first record in the row that has one, and names this record.
//
// A record of a manifest has the bytes of its file (file_frame.h), unless `features` do without them. A file that is
// missing, or is not in the indexed state, is a damaged read.
class ShardReader {
 public:
  // Opens a shard. Returns FailedPrecondition if `index` describes another state of the file. A StoredFile also
  // supports asynchronous reads (HasReadLater).
  static absl::StatusOr<std::unique_ptr<ShardReader>> Open(std::unique_ptr<storage::StoredFile> file,
                                                           std::shared_ptr<const ShardIndex> index,
                                                           const ShardReaderOptions& options = {});
  static absl::StatusOr<std::unique_ptr<ShardReader>> Open(std::unique_ptr<RandomAccessFile> file,
                                                           std::shared_ptr<const ShardIndex> index,
                                                           const ShardReaderOptions& options = {});
  ~ShardReader();

  const ShardIndex& index() const { return *index_; }
  const std::string& path() const { return single_ != nullptr ? single_->path() : file_->path(); }

  // Returns the size of the buffer for a read of record k. It counts the shard's head.
  uint64_t StoredBytes(uint64_t k, const RequestedFeatures* features) const;
  // Returns the size of the result of a read of record k. In lines, it also counts the end of each line.
  static uint64_t DataBytes(const ShardIndex& index, uint64_t k, const RequestedFeatures* features);

  // Reads record k's data into *record, replacing its content.
  absl::Status ReadRecord(uint64_t k, std::string* record) const;

  // Reads record k without an allocation or a copy. `buffer` has StoredBytes(k, features) bytes, and the result points
  // into it.
  absl::StatusOr<std::string_view> ReadRecord(uint64_t k, char* buffer,
                                              const RequestedFeatures* features = nullptr) const;

  // Does the same, but reads from the storage itself (RandomAccessFile::ReadAtPastCaches). For a compressed shard it
  // starts at the restart point and ignores kept positions.
  absl::StatusOr<std::string_view> ReadRecordPastCaches(uint64_t k, char* buffer,
                                                        const RequestedFeatures* features = nullptr) const;

  // ReadRecordLater reads a record asynchronously, all of its ranges at once. It requires HasReadLater(): a plain shard
  // in a StoredFile. `done` receives the result once, during the call or on a thread of the storage. The reader,
  // `features` and `buffer` must live until then.
  bool HasReadLater() const {
    if (single_ != nullptr) return single_->HasReadLater();
    return stored_ != nullptr && index_->kind().compression == Compression::kNone;
  }
  void ReadRecordLater(uint64_t k, char* buffer, const RequestedFeatures* features, const storage::CallOptions& options,
                       storage::CallDone<std::string_view> done) const;

  // Returns whether ReadBytesLater() and RecordOf() may read the records: if they are in the shard one by one.
  bool HasRanges() const { return HasReadLater() && single_ == nullptr && !NamesFiles(index_->kind().container); }
  // Requires HasRanges(). Reads index().RangeBytes(first, count) bytes from the first stored byte of record `first`
  // into consecutive parts. Does not check them; RecordOf does. The reader and the parts must live until `done` runs.
  void ReadBytesLater(uint64_t first, uint64_t count, std::vector<ReadPart> parts, const storage::CallOptions& options,
                      absl::AnyInvocable<void(const absl::Status&) &&> done) const;
  // Checks the stored bytes of record k, and returns its data, which is a part of `stored`, or of `with_head` if the
  // shard has a head. Returns DataLoss if they are damaged. `stored` must have the whole record. With `features`, first
  // moves their ranges to its front.
  absl::StatusOr<std::string_view> RecordOf(uint64_t k, char* stored, const RequestedFeatures* features,
                                            RecordBuffer* with_head) const;

  // The blocking form of ReadBytesLater(), into `out`. Returns FailedPrecondition if the file changed.
  absl::Status ReadBytes(uint64_t first, uint64_t count, char* out) const;
  // Does the same as RecordOf(), but leaves `stored` as it is. The result points into `buffer`, which has
  // StoredBytes(k, features) bytes.
  absl::StatusOr<std::string_view> CopyOf(uint64_t k, const char* stored, const RequestedFeatures* features,
                                          char* buffer) const;

  // Announces a read of record k. Passes the hint to the file if the shard is plain and has record k. Does not block.
  void WillRead(uint64_t k, const RequestedFeatures* features = nullptr) const;

 private:
  class RangesRead;
  class RowRead;

  ShardReader(std::unique_ptr<RandomAccessFile> file, std::shared_ptr<const ShardIndex> index,
              const ShardReaderOptions& options);

  // Returns the bytes of the shard that hold the records of a row, if one read shall fetch all of them: the records are
  // neighbors, and at least half of the bytes are theirs. Requires single_.
  std::optional<ByteRange> RangeOfRow(const plan::RowParts& parts, const RequestedFeatures* features) const;
  // Returns the row, whose range is at `stored`: the end of `buffer`, which has StoredBytes() bytes.
  absl::StatusOr<std::string_view> RowOfRange(uint64_t row, const ByteRange& range, const char* stored,
                                              char* buffer) const;
  // Reads the records of a row of a packed index, one after another or all at once.
  absl::StatusOr<std::string_view> ReadRow(uint64_t row, char* buffer, const RequestedFeatures* features,
                                           bool past_caches) const;
  // Does the same asynchronously, with all records at once.
  void ReadRowLater(uint64_t row, char* buffer, const RequestedFeatures* features, const storage::CallOptions& options,
                    storage::CallDone<std::string_view> done) const;
  // Returns the bytes of record k's file that a read has; 0 if the features do without them.
  static uint64_t FileBytes(const ShardIndex& index, uint64_t k, const RequestedFeatures* features);
  // Reads the file of record k into `out`. With `past_caches`, from the storage itself. Errors as for the record, but
  // without its place.
  absl::Status ReadFile(uint64_t k, bool past_caches, char* out) const;
  void ReadFileLater(uint64_t k, char* out, const storage::CallOptions& options,
                     absl::AnyInvocable<void(const absl::Status&) &&> done) const;
  // Returns where the file of record k belongs in the buffer of a read.
  char* FileIn(char* buffer, uint64_t k) const;
  // Returns the data of record k with its file, which is in the buffer.
  std::string_view WithFile(uint64_t k, const RequestedFeatures* features, char* buffer) const;
  uint64_t StoredBytesOfRow(uint64_t row, const RequestedFeatures* features) const;

  // Returns FailedPrecondition if the file changed since it was indexed.
  absl::Status CheckUnchanged() const;
  absl::Status CheckRange(uint64_t first, uint64_t count) const;
  // Reads the record's stored bytes into `out`. If `past_caches` is not null, reads that view of the file instead of
  // file_.
  absl::Status ReadStored(uint64_t k, const RequestedFeatures* features, const RandomAccessFile* past_caches,
                          char* out) const;
  absl::Status ReadPlain(const RandomAccessFile& file, const ByteRange& range, char* out) const;
  // Reads ranges of the decompressed stream, one after another into `out`.
  absl::Status ReadInflated(std::span<const ByteRange> ranges, const RandomAccessFile* past_caches, char* out) const;
  // Returns `status` with the record and its offset before its message.
  absl::Status AtRecord(uint64_t k, const absl::Status& status) const;
  // Returns where the stored bytes of a record belong in the buffer of a read: after the head.
  char* StoredIn(char* buffer) const { return buffer + index_->head().size(); }
  // Moves the stored bytes of record k, or the ranges of `features` in them, to `out`, which may be `stored`.
  void MoveStored(uint64_t k, const char* stored, const RequestedFeatures* features, char* out) const;
  // Returns the data in the stored bytes of record k if they are valid.
  absl::StatusOr<std::string_view> DataOf(uint64_t k, const RequestedFeatures* features, const char* stored) const;
  // Returns the data of record k, whose stored bytes are at StoredIn(buffer), if they are valid. Adds the head to them.
  absl::StatusOr<std::string_view> DataIn(uint64_t k, const RequestedFeatures* features, char* buffer) const;
  // Returns the result of an asynchronous read of record k that ended with `read`.
  absl::StatusOr<std::string_view> ReadLater(uint64_t k, const RequestedFeatures* features, const absl::Status& read,
                                             char* buffer) const;
  // Reads a range of the decompressed stream from `cursor`, which must be at or before it.
  absl::Status Inflate(InflateStream* cursor, const ByteRange& range, char* out) const;
  // Returns the restart point at or before `offset`.
  absl::StatusOr<const RestartPoint*> RestartPointOf(uint64_t offset) const;
  // Returns a stream at or before `offset`: a kept one at or after the restart point, or a new one there.
  absl::StatusOr<std::unique_ptr<InflateStream>> TakeCursor(uint64_t offset) const;
  void ReturnCursor(std::unique_ptr<InflateStream> cursor) const;

  const std::unique_ptr<RandomAccessFile> file_;  // null if index_ is packed
  const storage::StoredFile* stored_ = nullptr;   // file_, if it is a StoredFile
  std::unique_ptr<const ShardReader> single_;     // reads single records; not null if index_ is packed
  const std::shared_ptr<const ShardIndex> index_;
  const Container& container_;
  const ShardReaderOptions options_;
  mutable Mutex mutex_;
  // In order of use, the least recently used first.
  mutable std::vector<std::unique_ptr<InflateStream>> cursors_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_SHARD_READER_H_
