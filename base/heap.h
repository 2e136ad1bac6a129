// Controls how this process's heap treats freed memory.
#ifndef PENSTOCK_BASE_HEAP_H_
#define PENSTOCK_BASE_HEAP_H_

#include <cstddef>
#include <cstdint>

namespace penstock {

// Keeps up to about `bytes` of freed memory at the end of each arena of the heap. glibc releases all but 128 KiB at
// once, so that the system removes and clears pages for every few messages in programs that handle rows: half of a
// client's time for rows over gRPC. Call this in main, before threads are started. Does nothing with another heap, or
// if the environment sets MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_ or GLIBC_TUNABLES.
void KeepFreedMemory(size_t bytes);

// Releases all free pages to the system, including those between used ones. Takes some milliseconds for each 100 MB of
// free memory: call it after a large and rare operation.
void ReleaseFreedMemory();

// Returns the bytes of memory of this process that do not belong to files on disk: private memory, and memory shared
// with other processes, such as memory files. Returns 0 if the system does not report it.
uint64_t OwnMemory();

}  // namespace penstock

#endif  // PENSTOCK_BASE_HEAP_H_
