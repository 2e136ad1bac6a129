// Anonymous memory files that are written once, and that processes of this host may map for reading. An address in its
// contents identifies a file.
#ifndef PENSTOCK_BASE_SHARED_ROW_FILES_H_
#define PENSTOCK_BASE_SHARED_ROW_FILES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/sealed_memory.h"

namespace penstock {

class SharedRowFiles;

// A file that only this process can write. The owner writes each byte before announcing it to another process, and
// never again. A process that maps the file may read it at any time, even after the owner has released it.
class SharedRowFile {
 public:
  ~SharedRowFile();
  SharedRowFile(const SharedRowFile&) = delete;
  SharedRowFile& operator=(const SharedRowFile&) = delete;

  // Returns an id that is unique among all files of its SharedRowFiles.
  uint64_t id() const { return id_; }
  int fd() const { return memory_.fd(); }
  std::byte* data() const { return memory_.data(); }
  uint64_t size() const { return memory_.size(); }

 private:
  friend class SharedRowFiles;
  SharedRowFile(std::shared_ptr<SharedRowFiles> of, uint64_t id, SealedMemory memory)
      : of_(std::move(of)), id_(id), memory_(std::move(memory)) {}

  const std::shared_ptr<SharedRowFiles> of_;
  const uint64_t id_;
  const SealedMemory memory_;
};

// The shared row files of a process. Thread-safe. Held by shared_ptr.
class SharedRowFiles : public std::enable_shared_from_this<SharedRowFiles> {
 public:
  // Creates a file of zeros, whose pages take memory on their first access. Returns the errors of SealedMemory::Create.
  absl::StatusOr<std::shared_ptr<SharedRowFile>> Create(uint64_t bytes);
  // Returns the file that contains all these bytes, or null. The caller must keep the bytes alive.
  std::shared_ptr<const SharedRowFile> FileOf(const void* data, size_t size) const;

 private:
  friend class SharedRowFile;
  void Forget(const SharedRowFile& file);

  mutable Mutex mutex_;
  std::map<uintptr_t, std::weak_ptr<const SharedRowFile>> files_ ABSL_GUARDED_BY(mutex_);  // by start address
  uint64_t made_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_SHARED_ROW_FILES_H_
