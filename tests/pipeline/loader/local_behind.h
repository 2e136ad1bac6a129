// Bases for storages of tests: local files whose reads or opens do something first.
#ifndef PENSTOCK_TESTS_PIPELINE_LOADER_LOCAL_BEHIND_H_
#define PENSTOCK_TESTS_PIPELINE_LOADER_LOCAL_BEHIND_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/storage/forwarding_storage.h"
#include "pipeline/storage/posix_storage.h"
#include "pipeline/storage/storage.h"

namespace penstock::loader {

// Passes everything on to the local storage.
class LocalBehind : public storage::ForwardingStorage {
  storage::Storage* Of(const std::string& name) const override { return storage::LocalFiles(); }
};

// Forwards path(), opened(), Info() and ReadAt() to the file. Subclasses implement Read().
class LocalFileBehind : public storage::StoredFile {
 public:
  explicit LocalFileBehind(std::unique_ptr<storage::StoredFile> file) : file_(std::move(file)) {}
  const std::string& path() const override { return file_->path(); }
  const FileInfo& opened() const override { return file_->opened(); }
  absl::StatusOr<FileInfo> Info() const override { return file_->Info(); }
  absl::StatusOr<size_t> ReadAt(uint64_t offset, size_t length, char* out) const override {
    return file_->ReadAt(offset, length, out);
  }

 protected:
  const std::unique_ptr<storage::StoredFile> file_;
};

}  // namespace penstock::loader

#endif  // PENSTOCK_TESTS_PIPELINE_LOADER_LOCAL_BEHIND_H_
