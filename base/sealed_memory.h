// Memory that two processes map: an anonymous file, whose size is sealed.
#ifndef PENSTOCK_BASE_SEALED_MEMORY_H_
#define PENSTOCK_BASE_SEALED_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "base/owned_fd.h"

namespace penstock {

// A mapping of the whole file. It stays valid after the other process has ended.
class SealedMemory {
 public:
  enum class Others { kRead, kWrite };

  // Creates a file of zeros, mapped for reading and writing. Its pages take memory on their first access. With kRead,
  // no process can map the file for writing again; the returned mapping stays writable. Errors name the purpose `what`
  // and the system call, or RLIMIT_FSIZE if the file exceeds it.
  static absl::StatusOr<SealedMemory> Create(const char* name, uint64_t bytes, Others others, const char* what);

  // Maps memory from another process for reading. Returns InvalidArgument if the file is not a memory file of `bytes`
  // bytes, if `bytes` is 0, or if a read of the file could kill this process: its size can shrink, or it has huge
  // pages.
  static absl::StatusOr<SealedMemory> Open(OwnedFd fd, uint64_t bytes);

  SealedMemory(SealedMemory&& other) noexcept;
  SealedMemory& operator=(SealedMemory&&) = delete;
  ~SealedMemory();

  // Returns the descriptor, or -1 after CloseFd and for opened memory.
  int fd() const { return fd_.get(); }
  void CloseFd() { fd_.Reset(); }
  // Opened memory must not be written to.
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
