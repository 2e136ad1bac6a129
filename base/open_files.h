// Limits on the files of a process.
#ifndef PENSTOCK_BASE_OPEN_FILES_H_
#define PENSTOCK_BASE_OPEN_FILES_H_

#include <cstddef>
#include <cstdint>

namespace penstock {

// Raises this process's soft limit of open files to the hard limit, at most 65536. Most systems set a soft limit of
// 1024 for programs that call select(); Penstock's programs do not. Call this in main.
void RaiseOpenFileLimit();

// Makes a write past RLIMIT_FSIZE fail with EFBIG. Otherwise SIGXFSZ ends the process without a message. Call this in
// main.
void IgnoreFileSizeSignal();

// Returns RLIMIT_FSIZE in bytes, or the largest number if there is no limit. The limit also applies to memory files.
uint64_t FileSizeLimit();

// Returns the soft limit of open files, at most 65536, or 1024 if the system does not report it.
size_t OpenFileLimit();

}  // namespace penstock

#endif  // PENSTOCK_BASE_OPEN_FILES_H_
