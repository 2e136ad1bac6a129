// Files that need not last: what an import unpacks or copies before it reads it.
#ifndef PENSTOCK_PIPELINE_IMPORT_SCRATCH_FILE_H_
#define PENSTOCK_PIPELINE_IMPORT_SCRATCH_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"

namespace penstock {

// A file without a name, which goes when it is closed.
class ScratchFile {
 public:
  static absl::StatusOr<std::unique_ptr<ScratchFile>> Create(const std::string& folder);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  absl::Status Append(std::string_view bytes);
  // To read it, also when this is gone.
  std::shared_ptr<const RandomAccessFile> file() const { return file_; }

 private:
  ScratchFile(int fd, std::shared_ptr<const RandomAccessFile> file, std::string folder)
      : fd_(fd), file_(std::move(file)), folder_(std::move(folder)) {}

  const int fd_;
  const std::shared_ptr<const RandomAccessFile> file_;
  const std::string folder_;
};

// Bytes [offset, offset + info.size) of a file, under a name and with a state of its own.
std::unique_ptr<RandomAccessFile> NewPartOfFile(std::shared_ptr<const RandomAccessFile> file, uint64_t offset,
                                                FileInfo info, std::string name);

// A file to be read here and there: one of this machine as it is, an object's copy in the folder `scratch`, with the
// object's name and state.
absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenNear(const std::string& path, const std::string& scratch);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMPORT_SCRATCH_FILE_H_
