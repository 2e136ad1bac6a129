// What a loader counted in a stretch of time, and what can be set of it while it runs.
#ifndef PENSTOCK_PIPELINE_TUNING_TUNING_WINDOW_H_
#define PENSTOCK_PIPELINE_TUNING_TUNING_WINDOW_H_

namespace penstock {

struct TuningSetting {
  int threads = 1;       // that make rows
  int read_threads = 0;  // that only read, and rows wait aside meanwhile; 0: those that make rows read
  int requests = 64;     // of records, under way at once where storage takes them without a thread each: objects
  bool operator==(const TuningSetting&) const = default;
};

struct TuningLimits {
  int most_threads = 1;
  int host_cpus = 1;
  int most_read_threads = 512;
  int most_requests = 256;
  // What somebody has set in words stays as it is.
  bool threads_pinned = false;
  bool read_threads_pinned = false;  // and requests
};

// Seconds are sums over threads, but for `seconds`.
struct TuningWindow {
  double seconds = 0;  // its length
  double rows = 0;     // made
  double reads = 0;    // records that storage was asked for
  double read_seconds = 0;
  double busy_seconds = 0;     // of threads on rows
  double blocked_seconds = 0;  // of these in storage's calls
  double cpu_seconds = 0;      // CPU time that those threads got
  double other_seconds = 0;    // and other processes of the host
  // Threads without a row to make,
  double storage_seconds = 0;  // while rows waited for storage
  double memory_seconds = 0;   // while rows waited for memory
  double unasked_seconds = 0;  // while no trainer wanted more
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_TUNING_TUNING_WINDOW_H_
