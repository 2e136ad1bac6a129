// Files in the making: nobody sees one before it is whole.
#ifndef PENSTOCK_PIPELINE_STORAGE_NEW_FILE_H_
#define PENSTOCK_PIPELINE_STORAGE_NEW_FILE_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock {

// Not thread-safe. Appears under its name, in the place of what is there, when Commit() returned OK; one that goes
// before that leaves nothing. Calls wait.
class NewFile {
 public:
  // A file of this machine: until Commit() a hidden temporary file in the same folder, which must be there.
  static absl::StatusOr<std::unique_ptr<NewFile>> Create(const std::string& path);
  virtual ~NewFile() = default;

  virtual absl::Status Append(std::string_view bytes) = 0;
  // Makes it last. Once, last.
  virtual absl::Status Commit() = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_NEW_FILE_H_
