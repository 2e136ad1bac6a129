// Collects the time that a loader's makers spend on each job, and the reasons why they are idle: the data of JobTimes.
#ifndef PENSTOCK_PIPELINE_LOADER_LOADER_ACTIVITY_H_
#define PENSTOCK_PIPELINE_LOADER_LOADER_ACTIVITY_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "base/runtime/clock.h"
#include "pipeline/loader/job_activity.h"
#include "pipeline/loader/job_times.h"
#include "pipeline/loader/load_job.h"

namespace penstock::loader {

// Not thread-safe; guarded by its owner's lock, except for RowBegins, RowEnds and reading_since, which a maker calls
// for itself without the lock.
class LoaderActivity {
 public:
  // Makers have the numbers 0 to `makers` - 1. The clock must outlive this object.
  LoaderActivity(int makers, Clock* clock);

  // Returns the activity of the job. Creates it if there is none.
  std::shared_ptr<JobActivity> Of(const std::shared_ptr<const LoadJob>& job);
  // Returns the activities of jobs that exist.
  const std::vector<std::shared_ptr<JobActivity>>& all();

  // Records that the maker's next row is of this job.
  void TakesRowOf(int maker, const std::shared_ptr<JobActivity>& job);
  void RowBegins(int maker, Nanos now);
  void RowEnds(int maker);
  // Start of the maker's call of storage in progress; -1: none.
  std::atomic<Nanos>* reading_since(int maker);

  // Count a maker that becomes idle, and one that stops being idle.
  void Idles();
  void Resumes();
  // Returns why idle makers make no rows of the job now.
  using WhyIdle = absl::FunctionRef<JobActivity::Idle(const JobActivity& job)>;
  // Adds the time of idle makers since the last call to the state that each job was in. Call this before that state
  // changes. Skips calls in quick succession, except with `always`.
  void AddIdle(bool always, WhyIdle why);

  // Returns the times of all jobs, with the rows in progress.
  std::vector<JobTimes> Times();

 private:
  struct Maker {
    std::atomic<Nanos> row_since{-1};  // start of the row in progress; -1: none
    std::atomic<Nanos> reading_since{-1};
    std::shared_ptr<JobActivity> job;  // the last row belongs to it
  };

  Clock* const clock_;
  std::vector<Maker> makers_;
  std::vector<std::shared_ptr<JobActivity>> jobs_;
  IdleThreads idle_;
  Nanos looked_ = 0;  // time of the last look at idle makers
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_LOADER_ACTIVITY_H_
