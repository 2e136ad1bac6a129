// Tunes a loader while it runs: passes its counters to pipeline/tuning, and applies the result to the loader and its
// files. Also chooses the sizes of caches that are not pinned.
#ifndef PENSTOCK_PIPELINE_LOADER_SELF_TUNING_H_
#define PENSTOCK_PIPELINE_LOADER_SELF_TUNING_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/host_cpu.h"
#include "base/mutex.h"
#include "base/runtime/executor.h"
#include "base/runtime/thread_pool.h"
#include "pipeline/loader/cache_tuning.h"
#include "pipeline/loader/loader.h"
#include "pipeline/loader/tuning_counts.h"
#include "pipeline/storage/files.h"
#include "pipeline/tuning/tuning_controller.h"

namespace penstock::loader {

struct SelfTuningOptions {
  tuning::TuningLimits limits;  // most_threads: the loader's threads
  // Called after each change of the loader's threads or reads, including trials. Must be fast.
  std::function<void(const tuning::TuningSetting& to)> set;
  // Called with a line for each change that stays, on the thread of this object or of `executor`. Such changes are
  // rare, because unsuccessful trials are repeated less and less often.
  std::function<void(const std::string& line)> tell;
  // For simulations. Must run its tasks on the thread that calls Stop(). Null: a thread of its own.
  Executor* executor = nullptr;
  std::function<HostCpu()> host_cpu = [] { return UsedCpu(); };
};

// Thread-safe, except Stop() and the destructor.
class SelfTuning {
 public:
  struct Now {
    tuning::TuningSetting setting;
    uint64_t changes = 0;  // that stayed
    std::string last;      // description of the last of these; empty: none
  };

  // `loader`, and `files`, from which its jobs read, must outlive this. If all settings are pinned, nothing runs.
  SelfTuning(Loader* loader, storage::RemoteFiles* files, SelfTuningOptions options);
  // Calls Stop().
  ~SelfTuning() { Stop(); }
  // Ends all changes. Blocks until a look in progress has ended, which is short.
  void Stop();

  Now Get() const;
  const tuning::TuningLimits& limits() const { return options_.limits; }

 private:
  void Look();
  void PostLook();
  TuningCounts Count() const;
  void Apply(const tuning::TuningSetting& from, const tuning::TuningSetting& to);

  Loader* const loader_;
  storage::RemoteFiles* const files_;
  const SelfTuningOptions options_;
  mutable Mutex mutex_;
  Now now_ ABSL_GUARDED_BY(mutex_);
  // Used by the thread only.
  tuning::TuningController controller_;
  CacheTuning caches_;
  TuningCounts counts_;
  TimerId next_look_ = 0;               // on an executor of the options
  std::unique_ptr<ThreadPool> thread_;  // null: all settings are pinned, or the options have an executor
};

// Returns the number of records worth having in flight with that many read threads: one for each, and a few that wait.
int ReadsUnderWay(int read_threads);

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_SELF_TUNING_H_
