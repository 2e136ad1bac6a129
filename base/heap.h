// Controls how this process's heap treats freed memory.
#ifndef PENSTOCK_BASE_HEAP_H_
#define PENSTOCK_BASE_HEAP_H_

#include <cstddef>
#include <cstdint>
#include <list>

namespace penstock {

// Keeps up to about `bytes` of freed memory at the end of each arena of the heap. By default, glibc keeps 128 KiB and
// releases the rest at once. In a program that handles rows, the system then unmaps and clears pages every few
// messages, which takes half of a client's time for rows over gRPC. Call this in main, before threads are started. Does
// nothing with another heap, or if the environment sets MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_ or
// GLIBC_TUNABLES.
void KeepFreedMemory(size_t bytes);

// Releases free pages to the system, including those between used ones. After KeepFreedMemory, about 128 KiB stay at
// the end of each arena that has an ArenaAnchor. Up to 64 MiB stay at the end of each other arena, except the main one.
// Takes some milliseconds for each 100 MB of free memory: call it after a large and rare operation. Thread-safe.
void ReleaseFreedMemory();

// Lets ReleaseFreedMemory release the end of the arena of the thread that creates the anchor, while the anchor exists.
// Each thread of StartThread and ThreadPool has one. Any thread may destroy it.
class ArenaAnchor {
 public:
  ArenaAnchor();
  ~ArenaAnchor();
  ArenaAnchor(const ArenaAnchor&) = delete;
  ArenaAnchor& operator=(const ArenaAnchor&) = delete;

 private:
  std::list<void*>::iterator block_;  // a small block of the arena, in a list of all anchors
};

// Returns the bytes of this process's resident memory that do not belong to files on disk: private memory, and memory
// shared with other processes, such as memory files. Returns 0 if the system does not report them.
uint64_t OwnMemory();

}  // namespace penstock

#endif  // PENSTOCK_BASE_HEAP_H_
