// Records front to back, without an index: what builds indexes, verifies, and looks at a shard's first records.
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
  // Reads all data and checks its CRCs. Off, data is skipped unless it is asked for.
  bool check_data = true;
  // As IndexOptions::progress.
  std::function<void(uint64_t bytes)> progress = {};
};

// Not thread-safe.
class RecordWalker {
 public:
  enum class Step {
    kRecord,  // at a record with a whole frame
    kEnd,     // no more records
    kBroken,  // this record and all after it are lost: damage() and detail() say why
  };

  // `file` must outlive this.
  static absl::StatusOr<std::unique_ptr<RecordWalker>> Start(const RandomAccessFile* file, const WalkOptions& options);
  // The same, noting restart points; `recorder` may be null.
  static absl::StatusOr<std::unique_ptr<RecordWalker>> Start(const RandomAccessFile* file, const WalkOptions& options,
                                                             RestartRecorder* recorder);
  ~RecordWalker();

  // Moves to the next record. With `data`, its bytes are put there (and its CRC checked). Errors: the file's only.
  // After kEnd and kBroken, Next must not be called again.
  absl::StatusOr<Step> Next(std::string* data = nullptr);

  Compression compression() const { return compression_; }
  // Of the record that Next came to; record() is its number. At kEnd: number of records, size of the stream.
  uint64_t record() const { return record_; }
  uint64_t offset() const { return offset_; }
  // At kRecord.
  uint64_t length() const { return length_; }
  const char* header() const { return header_; }
  const char* footer() const { return footer_; }
  // At kRecord: false when the data was read and does not have its CRC.
  bool data_is_right() const { return data_is_right_; }
  // At kBroken.
  Damage damage() const { return damage_; }
  const std::string& detail() const { return detail_; }
  // At kBroken, and at kRecord with wrong data: "PATH: record 4 at offset 300: what is wrong, what is lost", as
  // DataLoss, or ResourceExhausted for a record above the limit.
  absl::Status BrokenStatus() const;

 private:
  RecordWalker(const RandomAccessFile* file, const WalkOptions& options);

  // Reads exactly `length` bytes; OK with *got < length at the end of the stream, or before damage (which is kept).
  absl::Status ReadFully(char* out, size_t length, size_t* got);
  absl::Status SkipFully(uint64_t length, uint64_t* got);
  // Reads the data of the record, a piece at a time, so that memory follows what is there and not what a header says.
  absl::Status ReadData(std::string* data, uint64_t* got);
  // What the file is if it is no shard at all; "" where that is not known.
  std::string OtherKind() const;
  Step Break(Damage damage, std::string detail);
  // The right damage for a stream that ended, or broke, after `got` bytes of a part.
  Step BreakShort(Damage truncated, uint64_t got, uint64_t wanted);
  void ReportProgress(bool end);

  const RandomAccessFile* const file_;
  const WalkOptions options_;
  Compression compression_ = Compression::kNone;
  std::unique_ptr<ByteSource> source_;
  InflateStream* inflate_ = nullptr;  // source_, when compressed
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

// One line on a broken record: "record 4 at offset 300: ...".
std::string DescribeDamage(const BrokenRecord& broken, std::string_view detail);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_RECORDS_RECORD_WALKER_H_
