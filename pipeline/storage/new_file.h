// New files that become visible only when they are complete.
#ifndef PENSTOCK_PIPELINE_STORAGE_NEW_FILE_H_
#define PENSTOCK_PIPELINE_STORAGE_NEW_FILE_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock::storage {

// Condition of a write or a removal. If the condition does not hold, nothing changes and the call ends with Aborted.
// Storages without conditional requests, such as that of local files, ignore it.
struct WriteCondition {
  bool is_new = false;   // no file of the name exists
  std::string tag = {};  // the existing file is in this state; empty: in any
};

// Not thread-safe. Commit() makes the file visible under its name and replaces an existing file. A file that is
// destroyed before Commit() never becomes visible. Must not be committed after an error of Append(). Calls block.
class NewFile {
 public:
  // Creates a local file. Until Commit() it is a hidden temporary file in the same folder, which must exist.
  static absl::StatusOr<std::unique_ptr<NewFile>> Create(const std::string& path);
  virtual ~NewFile() = default;

  virtual absl::Status Append(std::string_view bytes) = 0;
  // Makes the file durable and visible. Call it once, as the last call.
  virtual absl::Status Commit() = 0;
};

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_NEW_FILE_H_
