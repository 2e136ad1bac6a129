// How this process's heap treats memory that was freed.
#ifndef PENSTOCK_BASE_HEAP_H_
#define PENSTOCK_BASE_HEAP_H_

#include <cstddef>
#include <cstdint>

namespace penstock {

// For main, before threads are started: up to about `bytes` of what is freed at the end of each of the heap's arenas
// stay with the process. glibc gives all but 128 KiB back at once, so that programs through which rows flow would have
// pages taken away and cleared again for every few messages: half of the time that a client takes for rows over gRPC.
// Does nothing with another heap, or where the environment says otherwise (MALLOC_TRIM_THRESHOLD_, GLIBC_TUNABLES).
void KeepFreedMemory(size_t bytes);

// All pages that hold nothing any more go back to the system, also those between others. Takes some milliseconds for
// each 100 MB that are free: for after something large and rare.
void GiveFreedMemoryBack();

// Bytes of memory that this process has and that are no file's: of its own, and what it shares with others, such as
// memory files. 0: the system does not say.
uint64_t OwnMemory();

}  // namespace penstock

#endif  // PENSTOCK_BASE_HEAP_H_
