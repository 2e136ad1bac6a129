// Files of this machine and what is mounted on it.
#ifndef PENSTOCK_PIPELINE_STORAGE_POSIX_STORAGE_H_
#define PENSTOCK_PIPELINE_STORAGE_POSIX_STORAGE_H_

#include <cstdint>
#include <memory>

#include "base/runtime/executor.h"
#include "base/runtime/thread_pool.h"
#include "pipeline/storage/storage.h"

namespace penstock {

// Calls that wait are plain system calls on the caller's thread; those that do not run on `executor`, which outlives
// the storage and may block. A file's state is its size and its mtime. `far`: it says that it does not answer at once.
std::unique_ptr<Storage> MakePosixStorage(Executor* executor, bool far = false);

// Files of a network file system, whose reads take milliseconds: as many at once as there are threads for them, while
// the threads that make rows go on.
class FarFiles {
 public:
  // That anybody may ask for: a worker's settings (config/daemon_config.cc) have the same bound.
  static constexpr uint32_t kMaxThreads = 512;

  explicit FarFiles(int threads)
      : threads_(threads, "ps-read"), storage_(MakePosixStorage(&threads_, true)), count_(threads) {}

  // Lives as long as this.
  Storage* storage() const { return storage_.get(); }
  // Records that are worth having under way: one for each thread, and one that waits for it.
  int reads_under_way() const { return 2 * count_; }
  // Nothing new is read. False: a read hangs still at the deadline, and this must be left to the end of the process.
  bool StopBy(Nanos deadline) { return threads_.StopBy(deadline); }

 private:
  ThreadPool threads_;
  const std::unique_ptr<Storage> storage_;  // goes first
  const int count_;
};

// The process's, with a few threads of its own; lives for ever.
Storage* LocalFiles();

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_POSIX_STORAGE_H_
