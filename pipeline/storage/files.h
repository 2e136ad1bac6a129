// Everything that a data set may be named by: files of this machine, and objects by their URLs.
#ifndef PENSTOCK_PIPELINE_STORAGE_FILES_H_
#define PENSTOCK_PIPELINE_STORAGE_FILES_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/runtime/thread_pool.h"
#include "pipeline/storage/new_file.h"
#include "pipeline/storage/object/object_storage.h"
#include "pipeline/storage/storage.h"

namespace penstock {

// The process's; live for ever. Objects are asked for as the environment says when they are first asked for.
Storage* AnyFiles();
ObjectStorage* Objects();
// What Objects() was asked for so far; makes none.
ObjectCounts CountsOfObjects();

// A new file or object under its name; as NewFile::Create() and CreateObject() have it.
absl::StatusOr<std::unique_ptr<NewFile>> CreateFile(const std::string& name);
// Replaces the file or object at once.
absl::Status WriteContent(const std::string& name, const std::string& content);
// All that it holds. NotFound; ResourceExhausted: it is longer than `most`.
absl::StatusOr<std::string> ReadContent(const std::string& name, uint64_t most);

// Files by `local`, objects by Objects(). `local` lives as long.
std::unique_ptr<Storage> FilesBy(Storage* local);

// Files of which it is said, and may be said anew while they are read, how far they are. Those of a network file
// system, whose reads take milliseconds, are read by threads for that: as many at once as there are, while the threads
// that make rows go on. Near ones are read by whoever needs them.
class FarFiles {
 public:
  // That anybody may ask for: a worker's settings (config/daemon_config.cc) have the same bound.
  static constexpr uint32_t kMaxThreads = 512;

  // 0: near ones.
  explicit FarFiles(int threads);

  // Lives as long as this. Of objects as AnyFiles() has them.
  Storage* storage() const { return storage_.get(); }
  // Records that are worth having under way: one for each thread, and one that waits for it.
  int reads_under_way() const { return 2 * threads_now_.load(); }
  int threads() const { return threads_now_.load(); }
  // From now on so many read at once at the most, if no more are asked for and the system gives as many threads; 0: the
  // files are near. What is under way goes on. Thread-safe; threads that are there stay.
  void SetThreads(int threads);
  // Nothing new is read. False: a read hangs still at the deadline, and this must be left to the end of the process.
  bool StopBy(Nanos deadline) { return threads_.StopBy(deadline); }

 private:
  std::atomic<int> threads_now_;
  std::atomic<bool> far_;
  ThreadPool threads_;
  const std::unique_ptr<Storage> local_;  // goes before the threads
  const std::unique_ptr<Storage> storage_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_FILES_H_
