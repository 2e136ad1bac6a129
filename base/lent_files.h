// Memory that is written once and that processes of this host may have mapped for reading: files without names, found
// again by the addresses of what lies in them.
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

// Nobody else can write it. Whoever made it writes each byte before anybody is told of it, and never again: a process
// that has it mapped reads it whenever it likes, also when the maker has long let go of it.
class LentFile {
 public:
  ~LentFile();
  LentFile(const LentFile&) = delete;
  LentFile& operator=(const LentFile&) = delete;

  // Of all that its LentFiles ever made.
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

// Those of a process. Thread-safe; held by shared_ptr.
class LentFiles : public std::enable_shared_from_this<LentFiles> {
 public:
  // A new file of zeros, whose pages take memory once they are touched. Errors name the system call.
  absl::StatusOr<std::shared_ptr<LentFile>> Create(uint64_t bytes);
  // The file that all of these bytes, which the caller keeps alive, lie in; null: they lie elsewhere.
  std::shared_ptr<const LentFile> FileOf(const void* data, size_t size) const;

 private:
  friend class LentFile;
  void Forget(const LentFile& file);

  mutable Mutex mutex_;
  std::map<uintptr_t, std::weak_ptr<const LentFile>> files_ ABSL_GUARDED_BY(mutex_);  // by where they begin
  uint64_t made_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_LENT_FILES_H_
