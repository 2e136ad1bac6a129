// Sums of the workers' loads by job, for metrics. A sum does not decrease when a worker restarts or leaves. Pure state.
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
    double storage_seconds = 0, memory_seconds = 0, unrequested_seconds = 0;
    double background_read_seconds = 0, send_seconds = 0, full_seconds = 0;
    std::map<std::string, double> stages;
  };

  // Adds the growth between two successive heartbeats of a worker, for the jobs for which `exists` is true. A job
  // that a full list of the first heartbeat lacks counts from the second one on.
  void Add(const v1::WorkerLoad& before, const v1::WorkerLoad& now,
           absl::FunctionRef<bool(const std::string& job)> exists);
  void Forget(const std::string& job) { jobs_.erase(job); }

  const std::map<std::string, Sums>& jobs() const { return jobs_; }

 private:
  std::map<std::string, Sums> jobs_;
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_JOB_TOTALS_H_
