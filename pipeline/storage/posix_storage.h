// Local files and mounted file systems.
#ifndef PENSTOCK_PIPELINE_STORAGE_POSIX_STORAGE_H_
#define PENSTOCK_PIPELINE_STORAGE_POSIX_STORAGE_H_

#include <atomic>
#include <memory>

#include "base/runtime/executor.h"
#include "pipeline/storage/storage.h"

namespace penstock::storage {

// Makes a storage whose blocking calls are plain system calls on the caller's thread. The other calls run on
// `executor`, and may block its threads. `executor` must outlive the storage. A file's state is its size and its mtime.
// HasLowLatency() returns !remote.
std::unique_ptr<Storage> MakePosixStorage(Executor* executor, bool remote = false);
// Does the same, but `remote` may change at any time. It must outlive the storage.
std::unique_ptr<Storage> MakePosixStorage(Executor* executor, const std::atomic<bool>* remote);

// Returns the process-wide storage, which has its own threads and is never destroyed.
Storage* LocalFiles();

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_POSIX_STORAGE_H_
