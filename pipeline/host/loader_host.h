// The parts that a process needs to make rows: files, disk cache, loader and tuning, under one memory budget.
//
//   options ─▶ MemoryDivision ─▶ RemoteFiles ─▶ DiskCache ─▶ Loader ─▶ SelfTuning
//
// A worker, a feeder and `penstock bench` each have one.
#ifndef PENSTOCK_PIPELINE_HOST_LOADER_HOST_H_
#define PENSTOCK_PIPELINE_HOST_LOADER_HOST_H_

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "base/runtime/thread_pool.h"
#include "base/shared_row_files.h"
#include "pipeline/cache/disk/disk_cache.h"
#include "pipeline/host/memory_division.h"
#include "pipeline/loader/loader.h"
#include "pipeline/loader/self_tuning.h"
#include "pipeline/storage/files.h"
#include "pipeline/storage/storage.h"

namespace penstock::host {

struct LoaderHostOptions {
  // Storage of all URLs that jobs may name. Must outlive the host, which itself reads the files of this machine.
  storage::Storage* storage = nullptr;
  // `threads` is the first number of threads and the limit for tuning; 0: the CPUs of the cgroup's quota.
  // `memory_budget_bytes` is the budget of the process; the loader gets its part. The host sets disk_cache and
  // shared_row_files. If `read_threads` is positive, the host also sets reads_under_way.
  loader::LoaderOptions loader = {};
  bool threads_pinned = false;  // tuning keeps loader.threads
  // Threads that only read (RemoteFiles). 0: the loader's threads read. nullopt: tuning chooses.
  std::optional<int> read_threads = std::nullopt;
  // `folder` belongs to this process alone; empty: no disk cache. The host sets index_bytes, queue_bytes and the clock.
  cache::DiskCacheOptions disk_cache = {};
  bool rings = false;  // the budget includes rings of shared memory for trainers on this host
  // The host sets limits.most_threads, limits.threads_pinned and limits.read_threads_pinned.
  loader::SelfTuningOptions tuning = {};
};

// Returns the division of the budget that Create() uses.
MemoryDivision DivisionOf(const LoaderHostOptions& options);

// Thread-safe, except StopBy() and the destructor. A worker loads its data sets on threads of its own, not on
// slow_work().
class LoaderHost {
 public:
  // Returns the errors of DiskCache::Open() and Loader::Create().
  static absl::StatusOr<std::unique_ptr<LoaderHost>> Create(LoaderHostOptions options);

  // Stops the loads of slow_work(). Blocks until no load runs.
  ~LoaderHost();

  // Returns the storage for data sets of the loader's jobs. All jobs must be destroyed before this object.
  storage::Storage* storage() const { return files_.storage(); }
  const storage::RemoteFiles& files() const { return files_; }
  // Returns the kSlowThreads threads that load shards of these data sets (DatasetReader::Options::executor). Starts
  // them on first use.
  Executor* slow_work();
  // Loads wait for storage, not for a CPU.
  static constexpr int kSlowThreads = 4;
  loader::Loader* loader() const { return loader_.get(); }
  const loader::SelfTuning& tuning() const { return *tuning_; }
  const MemoryDivision& memory() const { return memory_; }
  // Returns the files in which the loader caches rows for trainers on this host. Null if memory().rings is 0.
  const std::shared_ptr<SharedRowFiles>& shared_row_files() const { return shared_row_files_; }

  // Stops the tuning, and new loads and reads. Returns false if a load on slow_work() or a read still blocks at the
  // deadline. This object must then live until the process ends.
  bool StopBy(Nanos deadline);

 private:
  LoaderHost(const LoaderHostOptions& options, const MemoryDivision& memory);

  const MemoryDivision memory_;
  Mutex mutex_;
  // Null: not used yet. Declared before files_, because calls of a storage may end with a post to these threads.
  std::unique_ptr<ThreadPool> slow_work_ ABSL_GUARDED_BY(mutex_);
  storage::RemoteFiles files_;
  std::shared_ptr<SharedRowFiles> shared_row_files_;
  std::unique_ptr<loader::Loader> loader_;
  std::unique_ptr<loader::SelfTuning> tuning_;
};

}  // namespace penstock::host

#endif  // PENSTOCK_PIPELINE_HOST_LOADER_HOST_H_
