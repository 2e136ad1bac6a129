// The counters of a loader over an interval, and the settings that can change while it runs.
#ifndef PENSTOCK_PIPELINE_TUNING_TUNING_WINDOW_H_
#define PENSTOCK_PIPELINE_TUNING_TUNING_WINDOW_H_

namespace penstock::tuning {

struct TuningSetting {
  int threads = 1;       // threads that make rows
  int read_threads = 0;  // threads that only read, while rows are parked; 0: the threads that make rows read
  int requests = 64;  // concurrent record requests to storage that needs no thread per request, such as object storage
  bool operator==(const TuningSetting&) const = default;
};

struct TuningLimits {
  int most_threads = 1;
  int host_cpus = 1;
  int most_read_threads = 512;
  int most_requests = 256;
  // Settings that the user fixed. They do not change.
  bool threads_pinned = false;
  bool read_threads_pinned = false;  // also fixes requests
};

// Times are sums over threads, except `seconds` and `read_seconds`.
struct TuningWindow {
  double seconds = 0;          // length of the window
  double rows = 0;             // rows made
  double reads = 0;            // records that storage returned without an error
  double read_seconds = 0;     // sum of storage latencies, also of failed reads
  double busy_seconds = 0;     // time on rows
  double blocked_seconds = 0;  // part of busy_seconds in storage calls
  double cpu_seconds = 0;      // CPU time of the threads that make rows
  double other_seconds = 0;    // CPU time of other processes on the host
  // Time of threads without a row to make. An idle thread counts for all jobs at once, so these are not sums over jobs.
  double storage_seconds = 0;      // while rows waited for storage: of the job with the most
  double memory_seconds = 0;       // while rows waited for memory: of the job with the most
  double unrequested_seconds = 0;  // while no trainer requested more: of the active job with the least
};

}  // namespace penstock::tuning

#endif  // PENSTOCK_PIPELINE_TUNING_TUNING_WINDOW_H_
