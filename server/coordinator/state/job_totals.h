// Sums of the workers' loads by job, for metrics. A sum never decreases: not when a worker restarts or leaves, and not
// when a worker reports less than before. Pure state.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_JOB_TOTALS_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_JOB_TOTALS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "absl/functional/function_ref.h"
#include "penstock/v1/control.pb.h"

namespace penstock::coordinator {

// Not thread-safe.
class JobTotals {
 public:
  // Stages of one job that are summed apart; the time of others is "other".
  static constexpr size_t kMostStages = 24;

  // As in v1::JobLoad.
  struct Sums {
    uint64_t rows = 0, timed_rows = 0, background_reads = 0;
    uint64_t bytes_read = 0, bytes_sent = 0;
    double making_seconds = 0, reading_seconds = 0;
    double storage_seconds = 0, memory_seconds = 0, capped_seconds = 0, unrequested_seconds = 0;
    double background_read_seconds = 0, send_seconds = 0, full_seconds = 0;
    std::map<std::string, double> stages;
    // Largest difference of making and reading so far. The two advance at different times, so the difference may fall.
    double computing_seconds = 0;
  };

  // Adds the growth of a worker's counters since its last heartbeat, for the jobs for which `exists` is true. The first
  // heartbeat of a worker only sets the start: the counters of a process that is older than this coordinator hold the
  // work before. The counters of a later incarnation begin at 0. A counter that is lower than before, as readings of
  // work in progress may be, grows again only above its highest value.
  void Add(const std::string& worker, uint64_t incarnation, const v1::WorkerLoad& load,
           absl::FunctionRef<bool(const std::string& job)> exists);
  void Forget(const std::string& job);
  // Forgets the workers for which `exists` is false. Their work stays in the sums.
  void KeepWorkers(absl::FunctionRef<bool(const std::string& worker)> exists);

  const std::map<std::string, Sums>& jobs() const { return jobs_; }

 private:
  // The highest counters of one process.
  struct Worker {
    uint64_t incarnation = 0;
    bool starts_at_zero = false;  // a job's first counters are growth
    std::map<std::string, Sums> highest;
  };

  std::map<std::string, Sums> jobs_;
  std::map<std::string, Worker> workers_;
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_JOB_TOTALS_H_
