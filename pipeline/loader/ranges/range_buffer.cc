#include "pipeline/loader/ranges/range_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

namespace penstock {
namespace {

uint64_t PageBytes() {
  static const uint64_t bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

uint64_t Up(uint64_t offset) { return (offset + PageBytes() - 1) / PageBytes() * PageBytes(); }

}  // namespace

uint64_t RangeBuffer::Takes(uint64_t bytes) { return Up(bytes); }

RangeBuffer::RangeBuffer(uint64_t bytes) : bytes_(Up(bytes)) {
  void* const mapped = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return;
  data_ = static_cast<char*>(mapped);
  // All pages in one call: a fault for each costs several times as much. Older kernels do not know it, and need not.
#ifdef MADV_POPULATE_WRITE
  madvise(data_, bytes_, MADV_POPULATE_WRITE);
#endif
}

RangeBuffer::~RangeBuffer() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

uint64_t RangeBuffer::Frees(uint64_t offset, uint64_t bytes) {
  const uint64_t begin = Up(offset), end = (offset + bytes) / PageBytes() * PageBytes();
  return end > begin ? end - begin : 0;
}

void RangeBuffer::Free(uint64_t offset, uint64_t bytes) {
  if (const uint64_t frees = Frees(offset, bytes); frees > 0) madvise(data_ + Up(offset), frees, MADV_DONTNEED);
}

}  // namespace penstock
