// Tunes a loader while it runs: its counters to pipeline/tuning, and what comes of that to the loader and its files.
// Its caches too, where their sizes are to be chosen.
#ifndef PENSTOCK_PIPELINE_LOADER_SELF_TUNING_H_
#define PENSTOCK_PIPELINE_LOADER_SELF_TUNING_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "base/runtime/executor.h"
#include "base/runtime/thread_pool.h"
#include "pipeline/loader/cache_tuning.h"
#include "pipeline/loader/loader.h"
#include "pipeline/loader/tuning_counts.h"
#include "pipeline/storage/files.h"
#include "pipeline/tuning/tuning_controller.h"

namespace penstock {

struct SelfTuningOptions {
  TuningLimits limits;  // most_threads: those of the loader
  // Told of each change, trials included, when the loader has it. Short.
  std::function<void(const TuningSetting& to)> set;
  // Told of each change that stays, in a line, on a thread of this. There are few: what does not pay is tried more and
  // more rarely.
  std::function<void(const std::string& line)> tell;
};

// Thread-safe, but for its end.
class SelfTuning {
 public:
  struct Now {
    TuningSetting setting;
    uint64_t changes = 0;  // that stayed
    std::string last;      // of these, in words; empty: none
  };

  // `loader` and `files`, which its jobs read from, outlive this. Nothing runs where all is pinned.
  SelfTuning(Loader* loader, RemoteFiles* files, SelfTuningOptions options);
  // Stops.
  ~SelfTuning() { Stop(); }
  // Changes nothing any more, and waits for a look that is under way, which is short.
  void Stop();

  Now Get() const;
  const TuningLimits& limits() const { return options_.limits; }

 private:
  void Look();
  TuningCounts Count() const;
  void Apply(const TuningSetting& from, const TuningSetting& to);

  Loader* const loader_;
  RemoteFiles* const files_;
  const SelfTuningOptions options_;
  mutable Mutex mutex_;
  Now now_ ABSL_GUARDED_BY(mutex_);
  // Of the thread.
  TuningController controller_;
  CacheTuning caches_;
  TuningCounts counts_;
  std::unique_ptr<ThreadPool> thread_;  // null: all is pinned
};

// Records worth having under way with so many read threads: one for each, and a few that wait for one.
int ReadsUnderWay(int read_threads);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_SELF_TUNING_H_
