// Reads records from front to back without an index. Used to build indexes, to verify shards, and to inspect a shard's
// first records.
#ifndef PENSTOCK_PIPELINE_SOURCES_RECORD_WALKER_H_
#define PENSTOCK_PIPELINE_SOURCES_RECORD_WALKER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "pipeline/sources/byte_source.h"
#include "pipeline/sources/compression.h"
#include "pipeline/sources/file_table.h"
#include "pipeline/sources/member_table.h"
#include "pipeline/sources/npy/row_windows.h"
#include "pipeline/sources/record_limits.h"
#include "pipeline/sources/shard_kind.h"
#include "pipeline/sources/verify.h"

namespace penstock::sources {

struct FileAccess;
class InflateStream;
class RestartRecorder;
class RowFiles;

struct WalkOptions {
  Compression compression = Compression::kAuto;
  std::optional<ContainerKind> container = std::nullopt;  // nullopt: the content decides
  RowWindows windows = {};                                // kNpy: the rows of a record
  // kManifest: finds the names in rows, and the files. Null: no record has a file. Megatron's tokens need `files`.
  std::shared_ptr<const RowFiles> row_files = nullptr;
  std::shared_ptr<const FileAccess> files = nullptr;
  uint64_t max_record_bytes = kDefaultMaxRecordBytes;
  // Whether to read all data and verify its CRCs. Otherwise data is skipped unless it is requested. A container without
  // checksums always reads it, because the index needs the CRCs of its members.
  bool check_data = true;
  bool check_files = false;  // kManifest: whether to read the files too
  // See IndexOptions::progress.
  std::function<void(uint64_t bytes)> progress = {};
};

// The walk over one shard. A container implements Next. Not thread-safe.
class RecordWalker {
 public:
  enum class Step {
    kRecord,  // at a complete record
    kEnd,     // no more records
    kBroken,  // this record and all later ones are lost; damage() and detail() give the reason
  };
  // The stream of a shard, opened at its front.
  struct Input {
    const RandomAccessFile* file;
    WalkOptions options;
    ShardKind kind;
    std::unique_ptr<ByteSource> source;
    InflateStream* inflate;  // source, if compressed
  };

  // Starts at the front. `file` must outlive the walker. Returns InvalidArgument if the content contradicts
  // options.container, if there are options.windows and it is no array, or if max_record_bytes is above
  // kLargestMaxRecordBytes. Returns OtherKindOfFile() if
  // options.container is not kTfRecord and the file is of a known kind that is no shard; otherwise Next() detects such
  // a file.
  static absl::StatusOr<std::unique_ptr<RecordWalker>> Start(const RandomAccessFile* file, const WalkOptions& options);
  // Also records restart points. `recorder` may be null.
  static absl::StatusOr<std::unique_ptr<RecordWalker>> Start(const RandomAccessFile* file, const WalkOptions& options,
                                                             RestartRecorder* recorder);
  explicit RecordWalker(Input input);
  virtual ~RecordWalker();

  // Moves to the next record. If `data` is not null, replaces its content by the record's data and verifies the data's
  // CRC, if the container has one. Errors come from the file, or report that memory is short. After kEnd and kBroken,
  // Next must not be called again.
  virtual absl::StatusOr<Step> Next(std::string* data) = 0;
  absl::StatusOr<Step> Next() { return Next(nullptr); }

  const ShardKind& kind() const { return input_.kind; }
  // The number and the offset of the current record. At kEnd: the number of records, and the offset after the last
  // record or member. A tar archive has its end mark there.
  uint64_t record() const { return record_; }
  uint64_t offset() const { return offset_; }
  // At kRecord: the size of its data. At kBroken: the size as far as the headers state it; 0 if unknown.
  uint64_t length() const { return length_; }
  // Valid at kRecord: the bytes that identify its content. ContentHasher takes them.
  std::string_view identity() const { return identity_; }
  // Valid at kRecord, for a container without checksums of its own: the members of the record.
  const std::vector<RecordMember>& members() const { return members_; }
  // Valid at kRecord, for kManifest: the file of the record.
  const FilePiece& file() const { return file_; }
  // Valid at kRecord and kEnd: the bytes that all records share (ShardIndex::head). They are a part of the record's
  // data.
  const std::string& head() const { return head_; }
  // Valid at kRecord: the bytes from the begin of a record to that of the next one, if all records have one size and
  // may overlap; otherwise 0.
  uint64_t step_bytes() const { return step_bytes_; }
  // Tar: the number of members so far that belong to no sample. 0 in other containers.
  uint64_t skipped() const { return skipped_; }
  // At kRecord: returns false if the data was read and its CRC is wrong.
  bool data_is_right() const { return data_is_right_; }
  // Valid at kBroken.
  Damage damage() const { return damage_; }
  const std::string& detail() const { return detail_; }
  // At kBroken, and at kRecord with damaged data: returns "PATH: record 4 at offset 300: " with the damage and its
  // consequence. The code is DataLoss, or ResourceExhausted for a record above the limit. If damage() is kOtherKind,
  // returns OtherKindOfFile() with "PATH: " and detail().
  absl::Status BrokenStatus() const;

 protected:
  const WalkOptions& options() const { return input_.options; }
  const RandomAccessFile& input_file() const { return *input_.file; }
  // Reads `length` bytes. Returns OK with *got < length at the end of the stream, or before damage, which is stored.
  absl::Status ReadFully(char* out, size_t length, size_t* got);
  absl::Status SkipFully(uint64_t length, uint64_t* got);
  // Reads `length` bytes piece by piece, so that memory grows with the existing data and not with a header's length.
  // Appends them to `data`, unless it is null. Adds them to each of `crcs`.
  absl::Status ReadPieces(uint64_t length, std::string* data, std::initializer_list<uint32_t*> crcs, uint64_t* got);
  // Returns whether the stream ended with damage of its compression.
  bool stream_is_damaged() const { return !stream_damage_.ok(); }
  // Ends the walk with this damage. If the first record of a TFRecord stream is damaged and the file is of a known
  // other kind, the damage becomes kOtherKind.
  Step Break(Damage damage, std::string detail);
  // Chooses the damage for a stream that ended, or was damaged, after `got` bytes of a part. `place` is empty or names
  // the part in the detail, with ": " after it.
  Step BreakShort(Damage truncated, uint64_t got, uint64_t wanted, std::string_view place = {});
  void ReportProgress(bool end);

  uint64_t record_ = 0, offset_ = 0, length_ = 0, skipped_ = 0, step_bytes_ = 0;
  std::string_view identity_;
  std::vector<RecordMember> members_;
  FilePiece file_;
  std::string head_;
  bool data_is_right_ = true;

 private:
  const Input input_;
  absl::Status stream_damage_;  // DataLoss that ended the stream
  Damage damage_ = Damage::kDataCrc;
  std::string detail_;
  uint64_t reported_ = 0;
  std::string scratch_;
};

// Returns one line about a damaged record: "record 4 at offset 300: ...". Returns only `detail` for kOtherKind.
std::string DescribeDamage(const BrokenRecord& broken, std::string_view detail);

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_RECORD_WALKER_H_
