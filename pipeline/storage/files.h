// All files that a data set may name: files of this machine, and objects by their URLs.
#ifndef PENSTOCK_PIPELINE_STORAGE_FILES_H_
#define PENSTOCK_PIPELINE_STORAGE_FILES_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/runtime/thread_pool.h"
#include "pipeline/storage/object/object_storage.h"
#include "pipeline/storage/storage.h"

namespace penstock::storage {

// Return the process-wide storages, which are never destroyed. The first use of Objects() reads its settings from the
// environment.
Storage* AnyFiles();
ObjectStorage* Objects();
// Returns the request counts of Objects(). Does not create it.
ObjectCounts CountsOfObjects();
// Returns scheme_counts() of Objects(), or nothing without it.
std::vector<ObjectSchemeCounts> SchemeCountsOfObjects();
// Returns credentials_end() of Objects(), or 0 without it.
int64_t CredentialsEndOfObjects();

// A storage of the URLs of a scheme, such as "s3".
struct UrlStorage {
  std::string scheme;
  std::function<Storage*()> storage;  // called when a name needs the storage, which must outlive all uses
};
// Returns the table of the process's storages.
std::vector<UrlStorage> UrlStorages();
// Returns a storage that uses `local` for paths, and the others for URLs. `local` must outlive it.
std::unique_ptr<Storage> FilesBy(Storage* local, std::vector<UrlStorage> others = UrlStorages());

// Files of this machine, on local disks or on a network file system. A read from a network file system takes
// milliseconds, so a pool of read threads makes it, and the threads that make rows continue. From a local disk, the
// thread that needs a record reads it. SetThreads() chooses between the two, also while files are read.
class RemoteFiles {
 public:
  // Maximum number of threads. kMaxReadThreads of config/daemon_config.h, for the settings of a worker, is equal.
  static constexpr uint32_t kMaxThreads = 512;

  // `threads`: 0 if the files are on local disks. `urls`, the storage of URLs, must outlive this object.
  RemoteFiles(int threads, Storage* urls);

  // Returns the storage of all files. It has the lifetime of this object.
  Storage* storage() const { return storage_.get(); }
  // Returns the number of records to keep in flight: for each thread one that it reads, and one that waits for it.
  int reads_under_way() const { return 2 * threads_now_.load(); }
  int threads() const { return threads_now_.load(); }
  // Returns the number of threads that run calls (opens if threads() is 0, also reads otherwise), and of waiting calls.
  ThreadPool::Load load() const { return threads_.load(); }
  // Sets threads(); 0 means that the files are on local disks. The number is lower if the system grants fewer threads.
  // Starts missing threads and ends none: a lower number only lowers threads() and reads_under_way(). Thread-safe.
  void SetThreads(int threads);
  // Stops new reads. Returns false if a read still blocks at the deadline. This object must then live until the process
  // ends.
  bool StopBy(Nanos deadline) { return threads_.StopBy(deadline); }

 private:
  std::atomic<int> threads_now_;
  std::atomic<bool> remote_;
  ThreadPool threads_;
  const std::unique_ptr<Storage> local_;  // declared after threads_, so that it is destroyed first
  const std::unique_ptr<Storage> storage_;
};

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_FILES_H_
