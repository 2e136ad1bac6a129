// Walks a shard record by record and reports all damage in it.
#ifndef PENSTOCK_PIPELINE_SOURCES_VERIFY_H_
#define PENSTOCK_PIPELINE_SOURCES_VERIFY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file.h"
#include "pipeline/sources/compression.h"
#include "pipeline/sources/npy/row_windows.h"
#include "pipeline/sources/record_limits.h"
#include "pipeline/sources/shard_kind.h"

namespace penstock::sources {

struct FileAccess;
class RowFiles;

enum class Damage : uint8_t {
  kDataCrc,          // the data changed: only this record is lost
  kLengthCrc,        // the length is unreliable: this record and all later ones are lost
  kTooLong,          // longer than the limit: this record and all later ones are not read
  kTruncatedHeader,  // the file (or the stream) ends inside the header; this record is lost
  kTruncatedData,    // the file (or the stream) ends inside the data or its CRC; this record is lost
  kCompression,      // the compressed data is damaged: this record and all later ones are lost
  kMember,           // tar: a header is malformed: this sample and all later ones are lost
  kOtherKind,        // a file of another kind, which the detail names: nothing is read
  kAfterLast,        // .npy: bytes follow the last row that the header declares; they are not read
  kQuotes,           // CSV: quotes that do not match; this row and all later ones are lost
  kFile,             // manifest: the file of the row cannot be read
  kTrailer,          // after a record, the compressed stream's own end is invalid or missing: later records may be lost
};

struct BrokenRecord {
  uint64_t record = 0;
  uint64_t offset = 0;  // offset of the record's frame in the stream
  uint64_t length = 0;  // size of the data as far as the headers state it; 0 if unknown
  Damage damage = Damage::kDataCrc;
  std::string detail = {};  // kFile: the reason
};

struct VerifyReport {
  std::string path;
  ShardKind kind;
  uint64_t file_size = 0;
  // Number of records with a complete frame, whether or not their data is valid. Excludes the record at which the walk
  // stopped early. That record has number framed_records and is the last entry of `broken`.
  uint64_t framed_records = 0;
  uint64_t readable_records = 0;  // framed records whose data is valid
  uint64_t data_bytes = 0;        // data of the readable records
  uint64_t skipped_members = 0;   // tar: members that belong to no sample
  std::vector<BrokenRecord> broken;
  // Further details about the last entry of `broken`, such as the message of zlib. May be empty.
  std::string detail;

  bool ok() const { return broken.empty(); }
  // Returns whether the file was identified as another kind of file.
  bool other_kind() const { return !broken.empty() && broken[0].damage == Damage::kOtherKind; }
  // Returns the numbers of the readable records in ascending order.
  std::vector<uint64_t> ReadableRecords() const;
  // Returns one line about broken[i]: record, offset, damage and its consequence.
  std::string Describe(size_t i) const;
  // Returns one line about the file: the number of readable records, and the number of faults if there are any. If
  // other_kind() is true, returns the file's kind instead.
  std::string Summary() const;
};

struct VerifyOptions {
  Compression compression = Compression::kAuto;
  std::optional<ContainerKind> container = std::nullopt;  // nullopt: the content decides
  RowWindows windows = {};                                // arrays: the rows of a record
  // Manifests: IndexOptions::row_files and files. All files are read.
  std::shared_ptr<const RowFiles> row_files = nullptr;
  std::shared_ptr<const FileAccess> files = nullptr;
  uint64_t max_record_bytes = kDefaultMaxRecordBytes;
  // See IndexOptions::progress.
  std::function<void(uint64_t bytes)> progress = {};
};

// Verifies every CRC of every TFRecord, or the headers of a tar archive, which has no checksums of its data. Damage is
// in the report. Errors:
//   InvalidArgument  options.max_record_bytes is above kLargestMaxRecordBytes, or the file has another container than
//                    options.container
//   others           the file cannot be read
absl::StatusOr<VerifyReport> VerifyShard(const RandomAccessFile& file, const VerifyOptions& options = {});

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_VERIFY_H_
