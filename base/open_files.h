// Limits on the files of a process.
#ifndef PENSTOCK_BASE_OPEN_FILES_H_
#define PENSTOCK_BASE_OPEN_FILES_H_

#include <cstddef>
#include <cstdint>

namespace penstock {

// Raises this process's limit of open files to the system's hard limit, at most 65536. The default soft limit is 1024
// on most systems, for programs that call select(), which Penstock's do not. Call this in main.
void RaiseOpenFileLimit();

// Makes a write past RLIMIT_FSIZE fail with EFBIG. Otherwise SIGXFSZ ends the process without a message. Call this in
// main.
void IgnoreFileSizeSignal();

// Returns RLIMIT_FSIZE in bytes, or the largest number if there is no limit. It also applies to memory files.
uint64_t FileSizeLimit();

// Returns the soft limit of open files.
size_t OpenFileLimit();

}  // namespace penstock

#endif  // PENSTOCK_BASE_OPEN_FILES_H_
