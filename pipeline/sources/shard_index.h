// The position of each record of a shard, so that record k is readable without reading the records before it.
#ifndef PENSTOCK_PIPELINE_SOURCES_SHARD_INDEX_H_
#define PENSTOCK_PIPELINE_SOURCES_SHARD_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "base/prefetch.h"
#include "base/wire.h"
#include "pipeline/plan/record_packs.h"
#include "pipeline/plan/record_windows.h"
#include "pipeline/sources/file_table.h"
#include "pipeline/sources/member_table.h"
#include "pipeline/sources/shard_kind.h"
#include "pipeline/sources/tfrecord/framing.h"

namespace penstock::sources {

// The groups of an index's records, such as their classes.
struct IndexGroups {
  std::vector<std::string> names;    // ascending by their bytes, each with a record
  std::vector<uint32_t> of_records;  // by record, in the order of the file: the number of its name

  bool operator==(const IndexGroups&) const = default;
};

// A position where inflating a compressed shard can start (as in zlib's examples/zran.c).
struct RestartPoint {
  uint64_t stream_offset = 0;  // in the decompressed stream
  uint64_t file_offset = 0;    // the first byte of which no bit is consumed; see `bits`
  // 0..7: the number of high bits of the byte before `file_offset` that belong to the next block.
  uint8_t bits = 0;
  // Whether a gzip member (or the zlib stream) begins at file_offset, with its header. Then no window is needed.
  bool stream_start = false;
  // Up to 32 KiB of the stream before stream_offset, as a zlib stream (RFC 1950).
  std::string window = {};

  bool operator==(const RestartPoint&) const = default;
};

class ShardIndex;

// The rows of a packed index.
struct IndexPacks {
  // The index of the single records, which is not packed itself. Null: the index is not packed.
  std::shared_ptr<const ShardIndex> records = nullptr;
  plan::RecordPacks rows = {};  // of `records`
  // Of `records`, in the place of `rows`; null: the rows are no windows.
  std::shared_ptr<const plan::RecordWindows> windows = nullptr;

  bool operator==(const IndexPacks& other) const;
};

// Plain data: copyable, and safe to read from many threads once built. Takes about 4 bytes per record, plus the members
// of a container without checksums (MemberTable) and the restart windows of a compressed shard.
//
// "The stream" is the file itself for a plain shard, otherwise its decompressed content. A record's stored bytes are
// its data and what the container adds to it. Gaps between records hold nothing that is read.
//
// An index may have only some records of its shard (Selected). Its records are then numbered without the others, and
// the others belong to its gaps.
//
// The records of a selected index may have groups. They are then numbered in the order of their groups, and in a group
// in the order of the file.
//
// The records of a packed index are rows of several records: packs or windows (pack_frame.h). Its blob and its content
// hash cover them. It has no members, head, gaps or restart points of its own: those are in packs().records, and a read
// needs only that.
class ShardIndex {
 public:
  explicit ShardIndex(const ShardKind& kind = {}) : kind_(kind), frame_bytes_(FrameBytesOf(kind.container)) {}

  const ShardKind& kind() const { return kind_; }
  // The state of the indexed file (FileInfo). If a file has another state, only indexing it again shows whether this
  // index is valid for it.
  uint64_t file_size = 0;
  int64_t mtime_ns = 0;
  std::string tag;
  FileInfo file_info() const { return {file_size, mtime_ns, tag}; }
  // Hash of the identities of all records in their order (see ContentHasher in index_builder.h). Equal hashes mean that
  // two files hold the same records, whatever their compression.
  uint64_t content_hash = 0;
  // In order of stream_offset, the first at 0. Empty for plain shards and for empty shards.
  std::vector<RestartPoint> restart_points;

  uint64_t record_count() const { return lengths_.size(); }
  // Returns whether the index has only the selected records of its shard.
  bool is_selected() const { return selected_ || is_packed(); }
  // Returns the number of records of the shard, selected or not, and packed or not.
  uint64_t shard_records() const {
    if (is_packed()) return packs_.records->shard_records();
    return selected_ ? shard_records_ : lengths_.size();
  }
  // Returns the numbers of the selected records, ascending; empty unless is_selected(). A packed index has those of its
  // rows if it is made of another packed one (Selected), and is then not stored.
  std::span<const uint32_t> numbers() const { return numbers_; }
  // Returns whether the records are rows of several records of the shard.
  bool is_packed() const { return packs_.records != nullptr; }
  const IndexPacks& packs() const { return packs_; }
  // Returns the records of row k. Requires is_packed().
  plan::RowParts PartsOf(uint64_t k) const {
    return packs_.windows == nullptr ? plan::RowParts(packs_.rows.Row(k)) : packs_.windows->Row(NumberInShard(k));
  }
  // Returns the index of single records: packs().records, or this index if it is not packed.
  const ShardIndex& SingleRecords() const { return is_packed() ? *packs_.records : *this; }
  // Returns whether record k + 1 is after the end of record k in the shard. If not, RangeBytes() needs a `count` of at
  // most 1.
  bool is_in_file_order() const {
    return !is_packed() && places_.empty() && (step_bytes_ == 0 || step_bytes_ >= longest_);
  }
  // Return the names of the groups, ascending, and the number of records of each; empty if there are no groups.
  std::span<const std::string> group_names() const { return group_names_; }
  std::span<const uint32_t> group_records() const { return group_records_; }
  IndexGroups Groups() const;
  // Returns the content hash of the index of all records; 0 unless is_selected().
  uint64_t whole_hash() const { return whole_hash_; }
  // Returns the number of bad records that the selection left out.
  uint64_t left_out() const { return is_packed() ? packs_.records->left_out() : left_out_; }
  // Returns the number of record k among all records of the shard: k, unless is_selected(). In a packed index it is the
  // number of the row. k < record_count(), here and below.
  uint64_t NumberInShard(uint64_t k) const {
    if (is_packed()) return numbers_.empty() ? k : numbers_[k];
    return selected_ ? numbers_[PlaceOf(k)] : k;
  }
  // Returns the size of record k's data in the shard, without its frame. For a row of a packed index, these are the
  // bytes of pack_frame.h, but at most 2^32 - 1.
  uint32_t RecordLength(uint64_t k) const { return lengths_[PlaceOf(k)]; }
  // Returns the bytes that every record's data begin with, but that the shard stores once: the row of names of a CSV
  // file, with "\n"; the header of one row of an array (npy/npy_container.h). Empty in other containers. No length of a
  // record counts it.
  const std::string& head() const { return head_; }
  // Returns the members of all records, with their checksums: those of record k have the number PlaceOf(k). Empty for a
  // container with checksums of its own.
  const MemberTable& members() const { return members_; }
  // Returns the files of all records: that of record k has the number PlaceOf(k). Empty unless NamesFiles().
  const FileTable& files() const { return files_; }
  // Returns the number of record k in members() and files(), whose records are in the order of the file.
  uint64_t PlaceOf(uint64_t k) const { return places_.empty() ? k : places_[k]; }
  // Returns the number of stored bytes of record k: the size of a read of the record.
  uint64_t StoredBytes(uint64_t k) const { return uint64_t{RecordLength(k)} + frame_bytes_; }
  // Returns the offset of record k's stored bytes in the stream. k == record_count() gives stream_size(). Takes
  // constant time. For a row of a packed index, it is that of its first record.
  uint64_t RecordOffset(uint64_t k) const;
  // Prefetches the entries of record k, for RecordOffset and RecordLength, into the processor's cache.
  void WillLookAt(uint64_t k) const {
    const uint64_t place = PlaceOf(k);
    PrefetchLine(&lengths_[place]);
    PrefetchLine(&offsets_[place / kBlockRecords]);
  }
  // Returns the number of bytes of the stream from the first stored byte of records [first, first + count) to their
  // last.
  uint64_t RangeBytes(uint64_t first, uint64_t count) const {
    if (count == 0) return 0;
    const uint64_t last = first + count - 1;
    return RecordOffset(last) + StoredBytes(last) - RecordOffset(first);
  }
  // Returns the end of the last record in the stream.
  uint64_t stream_size() const { return stream_size_; }
  // Returns the size of all records' data, without frames, and with a head and a file for each.
  uint64_t data_bytes() const { return data_bytes_ + head_.size() * record_count(); }
  // Returns the length of the longest record, with its file, or 0 for an empty shard.
  uint32_t longest_record() const { return longest_; }

  // For the builder. SetHead sets the head of all records. AppendGap appends bytes before the next record, and
  // AppendRecord the next record. A container without checksums requires `members`; others ignore them.
  // SetSteps states that all records have one length, and that each begins `step_bytes` <= kMaxStepBytes after the one
  // before it, which it may overlap; then there are no gaps.
  static constexpr uint64_t kMaxStepBytes = uint64_t{1} << 31;
  void SetHead(std::string head) { head_ = std::move(head); }
  void SetSteps(uint64_t first_offset, uint64_t step_bytes) {
    first_offset_ = first_offset;
    step_bytes_ = step_bytes;
  }
  void AppendGap(uint64_t bytes);
  void AppendRecord(uint32_t length, std::span<const RecordMember> members = {});
  // Sets the files of all records; only if NamesFiles(), and after the last AppendRecord().
  void SetFiles(FileTable files);
  // Returns the index of the records with these numbers, which ascend and are below record_count() <= 2^32. `left_out`
  // of the others are bad. Its content hash covers this index's hash, the numbers and the groups. Returns a copy of
  // this index if they are all its records and have no groups. This index must have no groups.
  ShardIndex Selected(std::span<const uint32_t> numbers, uint64_t left_out = 0, const IndexGroups& groups = {}) const;
  // Returns the index of these rows of this index's records, which must not be packed or have groups. Its content hash
  // covers this index's hash and the rows.
  ShardIndex Packed(plan::RecordPacks rows) const;
  // Does the same for windows, whose records must be below record_count().
  ShardIndex Windowed(std::shared_ptr<const plan::RecordWindows> windows) const;
  // Frees spare capacity. Call it after the last AppendRecord.
  void Compact();
  // Returns the number of heap bytes of the index.
  size_t MemoryBytes() const;

  // Returns a compact blob with a version and a checksum, the same on every machine. It has about 1 to 3 bytes per
  // record, 7 to 9 per member, 1 to 2 more per selected record, and the windows. A whole TFRecord shard gets the oldest
  // version that can store its index.
  std::string Serialize() const;
  // The inverse of Serialize. Returns DataLoss for bytes that are not such a blob, are damaged, or are inconsistent.
  // Returns FailedPrecondition for an unknown version or container, and for an index of a tar archive without members,
  // which an earlier release wrote. Never allocates more than a small multiple of the blob's size.
  static absl::StatusOr<ShardIndex> Parse(std::string_view blob);

  bool operator==(const ShardIndex&) const = default;

 private:
  static constexpr uint64_t kBlockRecords = 64;

  // Bytes before record `record` that belong to no record.
  struct Gap {
    uint64_t record = 0;
    uint64_t bytes = 0;

    bool operator==(const Gap&) const = default;
  };

  // Parses the sections of an index of this version, whose records have these lengths. Sets members_, head_, numbers_
  // and the steps.
  absl::Status ParseSections(uint32_t version, WireReader* in, std::span<const uint32_t> lengths,
                             std::vector<Gap>* gaps);
  // Returns an index of rows without any row, and the bytes of record k in a row.
  ShardIndex WithoutRows() const;
  uint64_t BytesInRow(uint64_t k) const;
  std::string SerializePacks() const;
  static absl::StatusOr<ShardIndex> ParsePacks(uint32_t version, std::string_view body);
  absl::Status ParseNumbers(std::string_view section, size_t records);
  absl::Status ParseGroups(std::string_view section, size_t records);
  void SetGroups(const IndexGroups& groups);
  absl::Status ParseSteps(std::string_view section, std::span<const uint32_t> lengths);
  uint64_t OffsetAt(uint64_t place) const;
  void AppendLength(uint32_t length);

  ShardKind kind_;
  uint32_t frame_bytes_ = 0;
  uint32_t longest_ = 0;
  std::vector<uint32_t> lengths_;
  std::vector<uint64_t> offsets_;    // one for each kBlockRecords records
  std::vector<uint64_t> next_gaps_;  // by block: number of the first gap after its first record; 0 for further blocks
  MemberTable members_;
  FileTable files_;
  std::string head_;
  std::vector<Gap> gaps_;  // ascending by record, at most one for each record
  // SetSteps(); step_bytes_ == 0: the lengths and the gaps have the offsets.
  uint64_t first_offset_ = 0, step_bytes_ = 0;
  bool selected_ = false;
  uint64_t shard_records_ = 0;     // selected_: the number of records of the shard
  uint64_t left_out_ = 0;          // selected_: the number of bad records
  uint64_t whole_hash_ = 0;        // selected_: the content hash of the index of all records
  std::vector<uint32_t> numbers_;  // selected_: the number of each record in the shard, ascending
  // Empty unless the records have groups. The members above are in the order of the file.
  std::vector<uint32_t> places_;  // by record
  std::vector<std::string> group_names_;
  std::vector<uint32_t> group_records_;
  IndexPacks packs_;
  uint64_t stream_size_ = 0;
  uint64_t data_bytes_ = 0;
};

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_SHARD_INDEX_H_
