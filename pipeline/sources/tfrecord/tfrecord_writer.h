// Writes TFRecord files: for tests, the demo's data and imports.
#ifndef PENSTOCK_PIPELINE_SOURCES_TFRECORD_TFRECORD_WRITER_H_
#define PENSTOCK_PIPELINE_SOURCES_TFRECORD_TFRECORD_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/sources/compression.h"
#include "pipeline/storage/storage.h"

namespace penstock::sources {

struct WriterOptions {
  Compression compression = Compression::kNone;  // kAuto is rejected
  int level = 6;                                 // zlib's level, 0 to 9
};

// Not thread-safe. The file appears under its name only after Close() returned OK. The destructor removes an unfinished
// file.
class TFRecordWriter {
 public:
  // Returns InvalidArgument for a compression or a level that cannot be written, and the errors of Storage::Create().
  static absl::StatusOr<std::unique_ptr<TFRecordWriter>> Open(storage::Storage* storage, const std::string& path,
                                                              const WriterOptions& options = {});
  virtual ~TFRecordWriter() = default;

  // Appends a record. After an error, all further calls of Write() and Close() return the same error.
  virtual absl::Status Write(std::string_view record) = 0;
  // Flushes the file and makes it durable and visible. Call it once, as the last call.
  virtual absl::Status Close() = 0;
  // Returns the number of records written so far.
  virtual uint64_t records() const = 0;
};

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_TFRECORD_TFRECORD_WRITER_H_
