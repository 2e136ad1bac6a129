// Walking a shard record by record and saying everything that is broken in it.
#ifndef PENSTOCK_PIPELINE_RECORDS_VERIFY_H_
#define PENSTOCK_PIPELINE_RECORDS_VERIFY_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file.h"
#include "pipeline/records/compression.h"
#include "pipeline/records/framing.h"

namespace penstock {

enum class Damage : uint8_t {
  kDataCrc,          // the data changed: exactly this record is lost
  kLengthCrc,        // the length cannot be trusted: this record and all after it are lost
  kTooLong,          // longer than the limit: this record and all after it are not read
  kTruncatedHeader,  // the file (or the stream) ends inside the header; this record is lost
  kTruncatedData,    // the file (or the stream) ends inside the data or its CRC; this record is lost
  kCompression,      // the compressed data is damaged: this record and all after it are lost
  kOtherKind,        // no shard at all but a file of another kind, which the detail names: nothing is read
  kTrailer,          // the compressed stream's own end is wrong; all records before it were readable
};

struct BrokenRecord {
  uint64_t record = 0;
  uint64_t offset = 0;  // of the record's frame in the stream
  uint64_t length = 0;  // as its header says; 0 where the header is broken
  Damage damage = Damage::kDataCrc;
};

struct VerifyReport {
  std::string path;
  Compression compression = Compression::kNone;
  uint64_t file_size = 0;
  // Records with a whole frame (their data right or not) come first; then, where `broken` ends with
  // damage that loses the rest, that record.
  uint64_t framed_records = 0;
  uint64_t readable_records = 0;  // those whose every CRC is right
  uint64_t data_bytes = 0;        // of the readable records
  std::vector<BrokenRecord> broken;
  // What zlib, the limit or the look at another kind of file said about the last of `broken`; empty else.
  std::string detail;

  bool ok() const { return broken.empty(); }
  // Whether it is no shard at all, as far as can be told.
  bool other_kind() const { return !broken.empty() && broken[0].damage == Damage::kOtherKind; }
  // The numbers of the readable records, ascending.
  std::vector<uint64_t> ReadableRecords() const;
  // One line for broken[i]: record, offset, what is wrong, what is lost.
  std::string Describe(size_t i) const;
  // One line for the file: how many records, how many readable, how many broken.
  std::string Summary() const;
};

struct VerifyOptions {
  Compression compression = Compression::kAuto;
  uint64_t max_record_bytes = kDefaultMaxRecordBytes;
  // As IndexOptions::progress.
  std::function<void(uint64_t bytes)> progress = {};
};

// Checks every CRC of every record. Damage is in the report; an error means that the file could not
// be read.
absl::StatusOr<VerifyReport> VerifyShard(const RandomAccessFile& file, const VerifyOptions& options = {});

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_RECORDS_VERIFY_H_
