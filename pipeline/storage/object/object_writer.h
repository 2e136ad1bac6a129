// New objects, written in parts that become visible together. ObjectStorage has the other writes.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_OBJECT_WRITER_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_OBJECT_WRITER_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "pipeline/storage/new_file.h"
#include "pipeline/storage/object/object_storage.h"

namespace penstock {

struct ObjectWriterOptions {
  size_t part_bytes = size_t{8} << 20;  // S3 requires at least 5 MiB, Google multiples of 256 KiB
  int under_way = 4;                    // Concurrent parts. Each is in memory twice while it is sent.
};

// Creates the object `name`. `storage` must outlive it. Failed parts are retried as reads are. A writer that is
// destroyed before Commit() removes its parts, if the storage can. InvalidArgument: `name` is invalid, or a name behind
// plain HTTP.
absl::StatusOr<std::unique_ptr<NewFile>> CreateObject(ObjectStorage* storage, const std::string& name,
                                                      const ObjectWriterOptions& options = {});

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_OBJECT_WRITER_H_
