// Memory that two processes have mapped: a file without a name, whose size cannot change any more.
#ifndef PENSTOCK_BASE_SEALED_MEMORY_H_
#define PENSTOCK_BASE_SEALED_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "base/owned_fd.h"

namespace penstock {

// A mapping of the whole file. It lives on when the other process has ended.
class SealedMemory {
 public:
  enum class Others { kRead, kWrite };

  // A new file of zeros, mapped for reading and writing. Its pages take memory once they are touched. With kRead nobody
  // can ever map it for writing but who has it mapped already. `what` is it for, in words for errors, which name the
  // system call.
  static absl::StatusOr<SealedMemory> Create(const char* name, uint64_t bytes, Others others, const char* what);

  // What another process sends, mapped for reading. InvalidArgument when it could be cut short under the reader (that
  // ends a process), is no memory, or has not `bytes` bytes.
  static absl::StatusOr<SealedMemory> Open(OwnedFd fd, uint64_t bytes);

  SealedMemory(SealedMemory&& other) noexcept;
  SealedMemory& operator=(SealedMemory&&) = delete;
  ~SealedMemory();

  // -1 once CloseFd was called, and of what was opened.
  int fd() const { return fd_.get(); }
  void CloseFd() { fd_.Reset(); }
  std::byte* data() const { return data_; }
  uint64_t size() const { return size_; }

 private:
  SealedMemory(OwnedFd fd, std::byte* data, uint64_t size);

  OwnedFd fd_;
  std::byte* data_;
  uint64_t size_;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_SEALED_MEMORY_H_
