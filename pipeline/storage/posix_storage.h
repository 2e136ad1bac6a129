// Files of this machine and what is mounted on it.
#ifndef PENSTOCK_PIPELINE_STORAGE_POSIX_STORAGE_H_
#define PENSTOCK_PIPELINE_STORAGE_POSIX_STORAGE_H_

#include <atomic>
#include <memory>

#include "base/runtime/executor.h"
#include "pipeline/storage/storage.h"

namespace penstock {

// Calls that wait are plain system calls on the caller's thread; those that do not run on `executor`, which outlives
// the storage and may block. A file's state is its size and its mtime. `far`: it says that it does not answer at once.
std::unique_ptr<Storage> MakePosixStorage(Executor* executor, bool far = false);
// The same, of which that may be said anew at any time; `far` outlives it.
std::unique_ptr<Storage> MakePosixStorage(Executor* executor, const std::atomic<bool>* far);

// The process's, with a few threads of its own; lives for ever.
Storage* LocalFiles();

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_POSIX_STORAGE_H_
