// Gathers JobTimes: what kept a loader's threads from a job's rows, and where the time of those that were made went.
#ifndef PENSTOCK_PIPELINE_LOADER_JOB_ACTIVITY_H_
#define PENSTOCK_PIPELINE_LOADER_JOB_ACTIVITY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/runtime/clock.h"
#include "pipeline/loader/epochs_seen.h"
#include "pipeline/loader/job_times.h"
#include "pipeline/loader/load_job.h"
#include "pipeline/loader/repeated_reads.h"
#include "pipeline/loader/row_costs.h"
#include "pipeline/tuning/cache_sizes.h"

namespace penstock {

// The time of threads that have nothing to do, until somebody asks for it. Pure.
class IdleThreads {
 public:
  // One more, or one less, from now on.
  void Begins(Nanos now) {
    Advance(now);
    ++threads_;
  }
  void Ends(Nanos now) {
    Advance(now);
    --threads_;
  }
  // The sum over threads since the last call.
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

// Of one job. Not thread-safe: under its owner's lock.
class JobActivity {
 public:
  explicit JobActivity(const std::shared_ptr<const LoadJob>& job);

  bool gone() const { return job_.expired(); }
  bool IsOf(const std::shared_ptr<const LoadJob>& job) const { return job_.lock() == job; }

  // What threads waited for while they had nothing to do; kStarting: rows that a thread is about to take.
  enum class Idle { kUnasked, kStorage, kMemory, kStarting };
  void AddIdle(Idle why, Nanos threads_time);
  // A thread was busy with a row of it: made, or put aside.
  void AddMaking(Nanos took, Nanos reading) {
    making_ += took;
    reading_ += reading;
  }
  // `readers`: that get this row.
  void AddRow(uint64_t bytes_read, uint64_t epoch, uint64_t position, int readers) {
    ++sums_.rows;
    sums_.bytes_read += bytes_read;
    epochs_.AddRow(epoch, position, 1.0 / readers);
  }
  // A reader more, or less, that is going to read up to this epoch (LoaderSessionOptions::end_epoch).
  void OpensReader(uint64_t end_epoch) { read_again_.Opens(end_epoch, epochs_); }
  void ClosesReader(uint64_t end_epoch) { read_again_.Closes(end_epoch); }
  // Of a row whose stages were measured: `own` as StageTimes has it, in which `reading` counts as StageTimes::kOther.
  void AddStages(const std::vector<Nanos>& own, Nanos reading);
  // What caches saved of a row that was made.
  RowCosts::Saved AddCost(const RowCost& row) { return costs_.Add(row); }
  // The same for whoever chooses sizes of caches; nothing of a job that is gone.
  std::optional<CacheJob> ForCaches();
  void AddBackgroundRead(Nanos took) {
    ++sums_.background_reads;
    background_read_ += took;
  }

  // `making` and `reading`: of what is under way.
  JobTimes Times(Nanos making, Nanos reading) const;

 private:
  const std::weak_ptr<const LoadJob> job_;
  JobTimes sums_;  // counts and names
  Nanos making_ = 0, reading_ = 0, storage_ = 0, memory_ = 0, unrequested_ = 0, background_read_ = 0;
  std::vector<Nanos> stages_;
  CacheJob for_caches_;  // what does not change
  double positions_ = 0, repeats_ = 1;
  RowCosts costs_;
  EpochsSeen epochs_;
  RepeatedReads read_again_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_JOB_ACTIVITY_H_
