// Where each record of a shard is: what makes record k readable without reading the k before it.
#ifndef PENSTOCK_PIPELINE_RECORDS_SHARD_INDEX_H_
#define PENSTOCK_PIPELINE_RECORDS_SHARD_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file.h"
#include "base/prefetch.h"
#include "pipeline/records/compression.h"
#include "pipeline/records/framing.h"

namespace penstock {

// A place where inflating a compressed shard can start (as in zlib's examples/zran.c).
struct RestartPoint {
  uint64_t stream_offset = 0;  // in the decompressed stream
  uint64_t file_offset = 0;    // of the first byte that is not wholly used up; see `bits`
  // 0..7: how many high bits of the byte before `file_offset` belong to the next block.
  uint8_t bits = 0;
  // A gzip member (or the zlib stream) begins at file_offset, with its header: no window is needed.
  bool stream_start = false;
  // The up to 32 KiB of the stream before stream_offset, as a zlib stream (RFC 1950).
  std::string window = {};

  bool operator==(const RestartPoint&) const = default;
};

// Plain data: copyable, and safe to read from many threads once built. Takes about 4 bytes per
// record, plus the restart windows of a compressed shard.
//
// "The stream" is the sequence of framed records: the file itself for a plain shard, else what it
// inflates to.
class ShardIndex {
 public:
  // kNone, kGzip or kZlib.
  Compression compression = Compression::kNone;
  // The state of the file that was indexed (FileInfo). Whether the index is that of a file in another state only
  // indexing it again can tell.
  uint64_t file_size = 0;
  int64_t mtime_ns = 0;
  std::string tag;
  FileInfo file_info() const { return {file_size, mtime_ns, tag}; }
  // Hash of all lengths and stored CRCs in record order (see ContentHasher in index_builder.h):
  // says whether two files hold the same records, however they are compressed.
  uint64_t content_hash = 0;
  // In order of stream_offset, the first at 0. Empty for plain and for empty shards.
  std::vector<RestartPoint> restart_points;

  uint64_t record_count() const { return lengths_.size(); }
  // Data bytes of record k, without its frame. k < record_count(), here and below.
  uint32_t RecordLength(uint64_t k) const { return lengths_[k]; }
  // Data bytes plus frame: what must be read for it.
  uint64_t FramedLength(uint64_t k) const { return uint64_t{lengths_[k]} + kRecordFrameBytes; }
  // Where the frame of record k begins in the stream; its data begins kRecordHeaderBytes later. k
  // == record_count() gives the stream's end. O(1).
  uint64_t RecordOffset(uint64_t k) const;
  // RecordOffset and RecordLength of k will be asked: what they look at is on its way to the processor's cache.
  void WillLookAt(uint64_t k) const {
    PrefetchLine(&lengths_[k]);
    PrefetchLine(&offsets_[k / kOffsetStride]);
  }
  // Framed bytes of records [first, first + count).
  uint64_t RangeBytes(uint64_t first, uint64_t count) const {
    return RecordOffset(first + count) - RecordOffset(first);
  }
  // Bytes of the stream.
  uint64_t stream_size() const { return stream_size_; }
  // Bytes of all records' data, without frames.
  uint64_t data_bytes() const { return stream_size_ - record_count() * kRecordFrameBytes; }
  // The length of the longest record; 0 for an empty shard.
  uint32_t longest_record() const { return longest_; }

  // Adds the next record (for the builder).
  void AppendRecord(uint32_t length);
  // Gives spare capacity back, when all is appended.
  void Compact();
  // Heap bytes that the index holds.
  size_t MemoryBytes() const;

  // A compact blob with a version and a checksum, the same on every machine; about 1 to 3 bytes per
  // record.
  std::string Serialize() const;
  // The reverse. DataLoss for bytes that are no such blob, are damaged, or contradict themselves;
  // FailedPrecondition for a version of another release. Never allocates more than a small multiple
  // of the blob's size.
  static absl::StatusOr<ShardIndex> Parse(std::string_view blob);

  bool operator==(const ShardIndex&) const = default;

 private:
  static constexpr uint64_t kOffsetStride = 64;

  std::vector<uint32_t> lengths_;
  std::vector<uint64_t> offsets_;  // of each kOffsetStride-th record
  uint64_t stream_size_ = 0;
  uint32_t longest_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_RECORDS_SHARD_INDEX_H_
