// New objects: whole, or in parts of which nobody sees anything before all are there.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_OBJECT_WRITER_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_OBJECT_WRITER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/storage/new_file.h"
#include "pipeline/storage/object/object_storage.h"

namespace penstock {

struct ObjectWriterOptions {
  size_t part_bytes = size_t{8} << 20;  // S3 takes none below 5 MiB, Google multiples of 256 KiB
  int under_way = 4;                    // parts at once; each is in memory twice while it is sent
};

// The object `name`; `storage` lives as long. What a part fails with is tried again as reads are. One that goes before
// Commit() takes back the parts that it sent, where the storage can. InvalidArgument: no name, or behind plain HTTP.
absl::StatusOr<std::unique_ptr<NewFile>> CreateObject(ObjectStorage* storage, const std::string& name,
                                                      const ObjectWriterOptions& options = {});

// All of `content` in one request, at once or not at all; the tag of the new state, "" where the storage says none.
// Aborted: `condition` does not hold.
absl::StatusOr<std::string> PutObject(ObjectStorage* storage, const std::string& name, const std::string& content,
                                      const WriteCondition& condition = {});

// OK also where there is none. Aborted: `condition` does not hold.
absl::Status RemoveObject(ObjectStorage* storage, const std::string& name, const WriteCondition& condition = {});

// Takes back what runs that were killed have sent into a folder and not made an object.
absl::Status AbortUploads(ObjectStorage* storage, const std::string& folder);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_OBJECT_WRITER_H_
