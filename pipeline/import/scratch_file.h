// Temporary files, which hold unpacked or copied input of an import.
#ifndef PENSTOCK_PIPELINE_IMPORT_SCRATCH_FILE_H_
#define PENSTOCK_PIPELINE_IMPORT_SCRATCH_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "pipeline/storage/storage.h"

namespace penstock::imports {

// An unnamed file, which the system removes when it is closed.
class ScratchFile {
 public:
  static absl::StatusOr<std::unique_ptr<ScratchFile>> Create(const std::string& folder);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  absl::Status Append(std::string_view bytes);
  // Returns the file for reading. It may outlive this object.
  std::shared_ptr<const RandomAccessFile> file() const { return file_; }

 private:
  ScratchFile(int fd, std::shared_ptr<const RandomAccessFile> file, std::string folder)
      : fd_(fd), file_(std::move(file)), folder_(std::move(folder)) {}

  const int fd_;
  const std::shared_ptr<const RandomAccessFile> file_;
  const std::string folder_;
};

// Returns bytes [offset, offset + info.size) of `file` as a file with this name and state.
std::unique_ptr<RandomAccessFile> NewPartOfFile(std::shared_ptr<const RandomAccessFile> file, uint64_t offset,
                                                FileInfo info, std::string name);

// Opens a file for reads at many places. A local file is opened directly. Any other is first copied into an unnamed
// file in the folder `scratch`. The result has the name and the state of the original.
absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenNear(storage::Storage* storage, const std::string& path,
                                                           const std::string& scratch);

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_SCRATCH_FILE_H_
