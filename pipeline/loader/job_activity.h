// Collects the times of one job (JobTimes): the time that threads spent on its rows, and the time of idle threads by
// reason.
#ifndef PENSTOCK_PIPELINE_LOADER_JOB_ACTIVITY_H_
#define PENSTOCK_PIPELINE_LOADER_JOB_ACTIVITY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/runtime/clock.h"
#include "pipeline/loader/epochs_seen.h"
#include "pipeline/loader/job_throttle.h"
#include "pipeline/loader/job_times.h"
#include "pipeline/loader/load_job.h"
#include "pipeline/loader/memory_budget.h"
#include "pipeline/loader/repeated_reads.h"
#include "pipeline/loader/row_costs.h"
#include "pipeline/tuning/cache_sizes.h"

namespace penstock::loader {

// Sums the time of idle threads. Pure.
class IdleThreads {
 public:
  // Adds or removes an idle thread at `now`.
  void Begins(Nanos now) {
    Advance(now);
    ++threads_;
  }
  void Ends(Nanos now) {
    Advance(now);
    --threads_;
  }
  // Returns the sum over threads since the last call.
  Nanos Take(Nanos now) {
    Advance(now);
    const Nanos taken = sum_;
    sum_ = 0;
    return taken;
  }
  int threads() const { return threads_; }

 private:
  void Advance(Nanos now) {
    sum_ += threads_ * (now - since_);
    since_ = now;
  }

  int threads_ = 0;
  Nanos since_ = 0;
  Nanos sum_ = 0;
};

// Activity of one job. Not thread-safe; guarded by its owner's lock.
class JobActivity {
 public:
  explicit JobActivity(const std::shared_ptr<const LoadJob>& job);

  bool gone() const { return job_.expired(); }
  bool IsOf(const std::shared_ptr<const LoadJob>& job) const { return job_.lock() == job; }

  // States of a job while threads are idle. kStarting: a thread is about to take its rows, or another session makes
  // them.
  enum class Idle { kUnasked, kStorage, kMemory, kCapped, kStarting };
  void AddIdle(Idle why, Nanos threads_time);
  // Adds the time of a thread with a row of the job, whether the row was made or not.
  void AddMaking(Nanos took, Nanos reading) {
    making_ += took;
    reading_ += reading;
    throttle_.AddMaking(took);
  }
  // Adds a row. `readers` is the number of sessions that get it.
  void AddRow(uint64_t bytes_read, uint64_t epoch, uint64_t position, int readers) {
    ++sums_.rows;
    sums_.bytes_read += bytes_read;
    epochs_.AddRow(epoch, position, 1.0 / readers);
  }
  // Add and remove a reader. `end_epoch`: see LoaderSessionOptions.
  void OpensReader(uint64_t end_epoch) { repeated_reads_.Opens(end_epoch, epochs_); }
  void ClosesReader(uint64_t end_epoch) { repeated_reads_.Closes(end_epoch); }
  // Adds a row of data set `set` whose stages were measured. `pipelines` are those of the job. `own` is as in
  // StageTimes; it includes `reading` under StageTimes::kOther.
  void AddStages(const augment::SetPipelines& pipelines, uint32_t set, const std::vector<Nanos>& own, Nanos reading);
  // Adds the computing time of a row that was made. Does nothing for a job of one data set. dataset < order().sets().
  void AddDatasetTime(uint32_t dataset, Nanos took) {
    if (sums_.datasets.empty()) return;
    ++sums_.datasets[dataset].rows;
    sums_.datasets[dataset].seconds += InSeconds(took);
  }
  // Adds a row that was made. Returns the time that caches saved.
  RowCosts::Saved AddCost(const RowCost& row) { return costs_.Add(row); }
  // Returns the measurements for the choice of cache sizes, or nullopt if the job no longer exists.
  std::optional<tuning::CacheJob> ForCaches();
  void AddBackgroundRead(Nanos took) {
    ++sums_.background_reads;
    throttle_.AddRequests(1);
    background_read_ += took;
  }

  JobThrottle& throttle() { return throttle_; }
  MemoryBudget::Group& memory() { return memory_of_job_; }
  // Returns the times so far. `making` and `reading` are those of the rows in progress.
  JobTimes Times(Nanos making, Nanos reading) const;

 private:
  const std::weak_ptr<const LoadJob> job_;
  JobTimes sums_;  // counts and names
  Nanos making_ = 0, reading_ = 0, storage_ = 0, memory_ = 0, unrequested_ = 0, capped_ = 0, background_read_ = 0;
  std::vector<Nanos> stages_;
  tuning::CacheJob for_caches_;  // the values that never change
  double positions_ = 0, repeats_ = 1;
  RowCosts costs_;
  EpochsSeen epochs_;
  RepeatedReads repeated_reads_;
  JobThrottle throttle_;
  MemoryBudget::Group memory_of_job_;
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_JOB_ACTIVITY_H_
