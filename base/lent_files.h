// Memory that is written once and that processes of this host may map for reading: anonymous files, which can be found
// by the addresses of their contents.
#ifndef PENSTOCK_BASE_LENT_FILES_H_
#define PENSTOCK_BASE_LENT_FILES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/sealed_memory.h"

namespace penstock {

class LentFiles;

// A file that only this process can write. The owner writes each byte before announcing it to another process, and
// never again. A process that maps the file may read it at any time, even after the owner has released it.
class LentFile {
 public:
  ~LentFile();
  LentFile(const LentFile&) = delete;
  LentFile& operator=(const LentFile&) = delete;

  // Returns an id that is unique among all files of its LentFiles.
  uint64_t id() const { return id_; }
  int fd() const { return memory_.fd(); }
  std::byte* data() const { return memory_.data(); }
  uint64_t size() const { return memory_.size(); }

 private:
  friend class LentFiles;
  LentFile(std::shared_ptr<LentFiles> of, uint64_t id, SealedMemory memory)
      : of_(std::move(of)), id_(id), memory_(std::move(memory)) {}

  const std::shared_ptr<LentFiles> of_;
  const uint64_t id_;
  const SealedMemory memory_;
};

// The lent files of a process. Thread-safe. Held by shared_ptr.
class LentFiles : public std::enable_shared_from_this<LentFiles> {
 public:
  // Creates a file of zeros, whose pages take memory on their first access. Errors name the system call.
  absl::StatusOr<std::shared_ptr<LentFile>> Create(uint64_t bytes);
  // Returns the file that contains all these bytes, which the caller must keep alive, or null.
  std::shared_ptr<const LentFile> FileOf(const void* data, size_t size) const;

 private:
  friend class LentFile;
  void Forget(const LentFile& file);

  mutable Mutex mutex_;
  std::map<uintptr_t, std::weak_ptr<const LentFile>> files_ ABSL_GUARDED_BY(mutex_);  // by start address
  uint64_t made_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_LENT_FILES_H_
