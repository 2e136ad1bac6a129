// Records put aside until their place in the shards is known: a file for each part, which is one writer's run of
// records.
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

namespace penstock {

// Writes one part. Not thread-safe.
class SpoolWriter {
 public:
  // The file is called `path` when Finish returned OK; until then it has another, longer name. One that is never
  // finished stays, empty, so that it is known to be missing.
  static absl::StatusOr<std::unique_ptr<SpoolWriter>> Open(const std::string& path);
  ~SpoolWriter();
  SpoolWriter(const SpoolWriter&) = delete;
  SpoolWriter& operator=(const SpoolWriter&) = delete;

  absl::Status Write(std::string_view record);
  // Call it once, last. What an earlier writer of this part left is replaced.
  absl::Status Finish(const PackSchema& schema);

 private:
  SpoolWriter(std::string path, std::string temporary, int fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}
  absl::Status Flush();

  const std::string path_, temporary_;
  const int fd_;
  std::string buffer_;
  std::vector<uint64_t> ends_;  // of each record, in the file
  uint64_t written_ = 0;
  bool finished_ = false;
};

// The name's end of a part that is being written, or was never finished, begins so.
constexpr char kOpenSpool[] = ".open-";

// A finished part. Thread-safe.
class SpoolFile {
 public:
  // DataLoss where the file is not whole.
  static absl::StatusOr<std::unique_ptr<SpoolFile>> Open(const std::string& path);

  uint64_t records() const { return ends_.size(); }
  const PackSchema& schema() const { return schema_; }
  uint64_t fingerprint() const { return fingerprint_; }
  absl::Status Read(uint64_t record, std::string* out) const;

 private:
  std::unique_ptr<RandomAccessFile> file_;
  std::vector<uint64_t> ends_;
  PackSchema schema_;
  uint64_t fingerprint_ = 0;
};

// The records of all parts, one part behind the other.
std::unique_ptr<RecordSource> NewSpoolSource(std::vector<std::unique_ptr<SpoolFile>> parts);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_PACK_RECORD_SPOOL_H_
