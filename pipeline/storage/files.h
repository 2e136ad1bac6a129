// Everything that a data set may be named by: files of this machine, and objects by their URLs.
#ifndef PENSTOCK_PIPELINE_STORAGE_FILES_H_
#define PENSTOCK_PIPELINE_STORAGE_FILES_H_

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

// A new file or object under its name; as NewFile::Create() and CreateObject() have it.
absl::StatusOr<std::unique_ptr<NewFile>> CreateFile(const std::string& name);
// Replaces the file or object at once.
absl::Status WriteContent(const std::string& name, const std::string& content);
// All that it holds. NotFound; ResourceExhausted: it is longer than `most`.
absl::StatusOr<std::string> ReadContent(const std::string& name, uint64_t most);

// Files by `local`, objects by Objects(). `local` lives as long.
std::unique_ptr<Storage> FilesBy(Storage* local);

// Files of a network file system, whose reads take milliseconds: as many at once as there are threads for them, while
// the threads that make rows go on.
class FarFiles {
 public:
  // That anybody may ask for: a worker's settings (config/daemon_config.cc) have the same bound.
  static constexpr uint32_t kMaxThreads = 512;

  explicit FarFiles(int threads);

  // Lives as long as this. Of objects as AnyFiles() has them.
  Storage* storage() const { return storage_.get(); }
  // Records that are worth having under way: one for each thread, and one that waits for it.
  int reads_under_way() const { return 2 * count_; }
  // Nothing new is read. False: a read hangs still at the deadline, and this must be left to the end of the process.
  bool StopBy(Nanos deadline) { return threads_.StopBy(deadline); }

 private:
  ThreadPool threads_;
  const std::unique_ptr<Storage> far_;  // goes before the threads
  const std::unique_ptr<Storage> storage_;
  const int count_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_FILES_H_
