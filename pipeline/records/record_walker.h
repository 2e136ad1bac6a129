// Reads records from front to back without an index. Used to build indexes, to verify shards, and to inspect a shard's
// first records.
#ifndef PENSTOCK_PIPELINE_RECORDS_RECORD_WALKER_H_
#define PENSTOCK_PIPELINE_RECORDS_RECORD_WALKER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "pipeline/records/compression.h"
#include "pipeline/records/framing.h"
#include "pipeline/records/verify.h"

namespace penstock {

class ByteSource;
class InflateStream;
class RestartRecorder;

struct WalkOptions {
  Compression compression = Compression::kAuto;
  uint64_t max_record_bytes = kDefaultMaxRecordBytes;
  // Whether to read all data and verify its CRCs. Otherwise data is skipped unless it is requested.
  bool check_data = true;
  // See IndexOptions::progress.
  std::function<void(uint64_t bytes)> progress = {};
};

// Not thread-safe.
class RecordWalker {
 public:
  enum class Step {
    kRecord,  // at a record with a complete frame
    kEnd,     // no more records
    kBroken,  // this record and all later ones are lost; damage() and detail() give the reason
  };

  // Starts at the front. `file` must outlive the walker.
  static absl::StatusOr<std::unique_ptr<RecordWalker>> Start(const RandomAccessFile* file, const WalkOptions& options);
  // Also records restart points. `recorder` may be null.
  static absl::StatusOr<std::unique_ptr<RecordWalker>> Start(const RandomAccessFile* file, const WalkOptions& options,
                                                             RestartRecorder* recorder);
  ~RecordWalker();

  // Moves to the next record. With `data`, stores its bytes there and verifies their CRC. Errors come only from the
  // file. After kEnd and kBroken, Next must not be called again.
  absl::StatusOr<Step> Next(std::string* data = nullptr);

  Compression compression() const { return compression_; }
  // The number and the offset of the current record. At kEnd: the number of records and the size of the stream.
  uint64_t record() const { return record_; }
  uint64_t offset() const { return offset_; }
  // Valid at kRecord.
  uint64_t length() const { return length_; }
  const char* header() const { return header_; }
  const char* footer() const { return footer_; }
  // At kRecord: returns false if the data was read and its CRC is wrong.
  bool data_is_right() const { return data_is_right_; }
  // Valid at kBroken.
  Damage damage() const { return damage_; }
  const std::string& detail() const { return detail_; }
  // At kBroken, and at kRecord with damaged data: returns "PATH: record 4 at offset 300: " with the damage and its
  // consequence. The code is DataLoss, or ResourceExhausted for a record above the limit.
  absl::Status BrokenStatus() const;

 private:
  RecordWalker(const RandomAccessFile* file, const WalkOptions& options);

  // Reads exactly `length` bytes. Returns OK with *got < length at the end of the stream, or before damage (which is
  // stored).
  absl::Status ReadFully(char* out, size_t length, size_t* got);
  absl::Status SkipFully(uint64_t length, uint64_t* got);
  // Reads the data of the record piece by piece, so that memory grows with the existing data and not with the header's
  // length.
  absl::Status ReadData(std::string* data, uint64_t* got);
  // Returns the kind of a file that is not a shard, or "" if it is unknown.
  std::string OtherKind() const;
  Step Break(Damage damage, std::string detail);
  // Chooses the damage for a stream that ended, or was damaged, after `got` bytes of a part.
  Step BreakShort(Damage truncated, uint64_t got, uint64_t wanted);
  void ReportProgress(bool end);

  const RandomAccessFile* const file_;
  const WalkOptions options_;
  Compression compression_ = Compression::kNone;
  std::unique_ptr<ByteSource> source_;
  InflateStream* inflate_ = nullptr;  // source_, if compressed
  absl::Status stream_damage_;        // DataLoss that ended the stream
  uint64_t next_record_ = 0, next_offset_ = 0;
  uint64_t record_ = 0, offset_ = 0, length_ = 0;
  char header_[kRecordHeaderBytes] = {};
  char footer_[kRecordFooterBytes] = {};
  bool data_is_right_ = true;
  Damage damage_ = Damage::kDataCrc;
  std::string detail_;
  uint64_t reported_ = 0;
  std::vector<char> scratch_;
};

// Returns one line about a damaged record: "record 4 at offset 300: ...".
std::string DescribeDamage(const BrokenRecord& broken, std::string_view detail);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_RECORDS_RECORD_WALKER_H_
