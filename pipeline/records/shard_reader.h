// Reading any record of an indexed shard.
#ifndef PENSTOCK_PIPELINE_RECORDS_SHARD_READER_H_
#define PENSTOCK_PIPELINE_RECORDS_SHARD_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "base/mutex.h"
#include "pipeline/records/shard_index.h"
#include "pipeline/storage/storage.h"

namespace penstock {

class InflateStream;

struct ShardReaderOptions {
  // Compressed shards: how many places in the stream are remembered between reads, so that reading
  // on costs no restart. Each takes about 112 KiB. 0: every read starts at a restart point.
  size_t max_cursors = 4;
};

// Thread-safe; one per shard serves all threads. Outcomes of reads, beside OK:
//   DataLoss            this record is broken: a CRC is wrong, or the compressed data is damaged
//                       there. The message names file, record and offset. Other records may be
//                       readable.
//   FailedPrecondition  the file is no longer the one that was indexed (size or mtime): index it
//                       again
//   OutOfRange          there is no such record
//   others              reading failed (from the file); trying again may help
class ShardReader {
 public:
  // Opens the file and checks that it is the one that `index` describes (FailedPrecondition if
  // not).
  static absl::StatusOr<std::unique_ptr<ShardReader>> Open(const std::string& path,
                                                           std::shared_ptr<const ShardIndex> index,
                                                           const ShardReaderOptions& options = {});
  // The same on an open file; a StoredFile can also be read later.
  static absl::StatusOr<std::unique_ptr<ShardReader>> Open(std::unique_ptr<StoredFile> file,
                                                           std::shared_ptr<const ShardIndex> index,
                                                           const ShardReaderOptions& options = {});
  static absl::StatusOr<std::unique_ptr<ShardReader>> Open(std::unique_ptr<RandomAccessFile> file,
                                                           std::shared_ptr<const ShardIndex> index,
                                                           const ShardReaderOptions& options = {});
  ~ShardReader();

  const ShardIndex& index() const { return *index_; }
  const std::string& path() const { return file_->path(); }

  // Record k's data into *record (replaced).
  absl::Status ReadRecord(uint64_t k, std::string* record) const;

  // The same without an allocation or a copy: `buffer` has index().FramedLength(k) bytes, the
  // result points into it.
  absl::StatusOr<std::string_view> ReadRecord(uint64_t k, char* buffer) const;

  // The same without waiting, of a plain shard in a StoredFile: `done` gets it, perhaps inside the call, or on a thread
  // of the storage. The reader and `buffer` stay until then. Aborted: the file changed since it was opened.
  bool HasReadLater() const { return stored_ != nullptr && index_->compression == Compression::kNone; }
  void ReadRecordLater(uint64_t k, char* buffer, const CallOptions& options, CallDone<std::string_view> done) const;

  // Where HasReadLater(): the frames of records [first, first + count), index().RangeBytes() of them, unlooked at,
  // which RecordOfFrame does, one part behind the other. The same holds as for ReadRecordLater.
  void ReadBytesLater(uint64_t first, uint64_t count, std::vector<ReadPart> parts, const CallOptions& options,
                      absl::AnyInvocable<void(const absl::Status&) &&> done) const;
  // Record k's data in its frame, a part of `frame`, when it is whole and right; else DataLoss.
  absl::StatusOr<std::string_view> RecordOfFrame(uint64_t k, const char* frame) const { return CheckFrame(k, frame); }

  // Record k will be read soon: of a plain shard, the file is told. Does not wait.
  void WillRead(uint64_t k) const;

  // Records [first, first + count) with one read of the file (plain shards) or one pass over the
  // stream: `buffer` has index().RangeBytes(first, count) bytes. (*records)[i] becomes record first
  // + i, pointing into `buffer`, or the error of just that record. Returns an error, with *records
  // empty, when nothing could be read.
  absl::Status ReadRange(uint64_t first, uint64_t count, char* buffer,
                         std::vector<absl::StatusOr<std::string_view>>* records) const;

 private:
  ShardReader(std::unique_ptr<RandomAccessFile> file, std::shared_ptr<const ShardIndex> index,
              const ShardReaderOptions& options);

  // FailedPrecondition when the file changed since it was indexed.
  absl::Status CheckUnchanged() const;
  absl::Status CheckRange(uint64_t first, uint64_t count) const;
  // Bytes [offset, offset + length) of the stream; *got says how many are there when it fails.
  absl::Status ReadStream(uint64_t offset, uint64_t length, char* out, uint64_t* got) const;
  absl::Status ReadInflated(uint64_t offset, uint64_t length, char* out, uint64_t* got) const;
  // `status` with the record and its offset in front.
  absl::Status AtRecord(uint64_t k, const absl::Status& status) const;
  // The data in the frame of record k, when its lengths and CRCs are right.
  absl::StatusOr<std::string_view> CheckFrame(uint64_t k, const char* frame) const;
  // A stream at or before `offset`: a remembered one when that is nearer than the restart point.
  absl::StatusOr<std::unique_ptr<InflateStream>> TakeCursor(uint64_t offset) const;
  void ReturnCursor(std::unique_ptr<InflateStream> cursor) const;

  const std::unique_ptr<RandomAccessFile> file_;
  const StoredFile* stored_ = nullptr;  // file_, where it is one
  const std::shared_ptr<const ShardIndex> index_;
  const ShardReaderOptions options_;
  mutable Mutex mutex_;
  // The least recently used first.
  mutable std::vector<std::unique_ptr<InflateStream>> cursors_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_RECORDS_SHARD_READER_H_
