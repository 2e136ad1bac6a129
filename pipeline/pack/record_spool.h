// Files that hold records until their place in the shards is known. Each file has one part: the records of one writer.
#ifndef PENSTOCK_PIPELINE_PACK_RECORD_SPOOL_H_
#define PENSTOCK_PIPELINE_PACK_RECORD_SPOOL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "pipeline/import/record_source.h"
#include "pipeline/pack/pack_schema.h"

namespace penstock::pack {

// Writes one part. Not thread-safe.
class SpoolWriter {
 public:
  // Opens a part. Finish renames the file to `path`; before that, it has a longer name. If Finish never succeeds, the
  // file keeps the longer name, which marks the part as missing. The destructor empties such a file.
  static absl::StatusOr<std::unique_ptr<SpoolWriter>> Open(const std::string& path);
  ~SpoolWriter();
  SpoolWriter(const SpoolWriter&) = delete;
  SpoolWriter& operator=(const SpoolWriter&) = delete;

  absl::Status Write(std::string_view record);
  // Finishes the part and replaces an earlier file of the same part. Call it once, as the last call.
  absl::Status Finish(const PackSchema& schema);

 private:
  SpoolWriter(std::string path, std::string temporary, int fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}
  absl::Status Flush();

  const std::string path_, temporary_;
  const int fd_;
  std::string buffer_;
  std::vector<uint64_t> ends_;  // offset of each record's end in the file
  uint64_t written_ = 0;
  bool finished_ = false;
};

// Follows `path` in the name of a part that is not finished.
constexpr char kOpenSpool[] = ".open-";

// A finished part. Thread-safe.
class SpoolFile {
 public:
  // Opens a finished part. Returns DataLoss if the file is incomplete, or the error of the file.
  static absl::StatusOr<std::unique_ptr<SpoolFile>> Open(const std::string& path);

  uint64_t records() const { return ends_.size(); }
  const PackSchema& schema() const { return schema_; }
  // Returns a hash of the records' lengths and of the schema. It does not cover the bytes of the records.
  uint64_t fingerprint() const { return fingerprint_; }
  // Replaces *out with a record. `record` must be below records(). Returns DataLoss if the file has become shorter.
  absl::Status Read(uint64_t record, std::string* out) const;

 private:
  std::unique_ptr<RandomAccessFile> file_;
  std::vector<uint64_t> ends_;
  PackSchema schema_;
  uint64_t fingerprint_ = 0;
};

// Returns a source of the records of all parts, one part after another. A failed read is Unavailable.
std::unique_ptr<imports::RecordSource> NewSpoolSource(std::vector<std::unique_ptr<SpoolFile>> parts);

}  // namespace penstock::pack

#endif  // PENSTOCK_PIPELINE_PACK_RECORD_SPOOL_H_
