// Time that a loader's threads spent for one job, to explain what limits the job.
#ifndef PENSTOCK_PIPELINE_LOADER_JOB_TIMES_H_
#define PENSTOCK_PIPELINE_LOADER_JOB_TIMES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::loader {

// Sums since the loader opened the job's first session. Seconds are sums over threads and include work in progress.
struct JobTimes {
  std::string job;
  uint64_t rows = 0;  // made or failed
  uint64_t bytes_read = 0;
  double making_seconds = 0;   // on its rows, including tries that ended with a wait
  double reading_seconds = 0;  // part of making_seconds in reads from storage and the disk cache
  // Time of threads without a row to make, by the state of this job:
  double storage_seconds = 0;      // rows were parked and waited for their shard or their record
  double memory_seconds = 0;       // rows waited for memory of the budget
  double unrequested_seconds = 0;  // all requested rows were made or in progress
  double capped_seconds = 0;       // caps or a pause held its rows
  // Time in which caps or a pause held rows, whatever the threads did. No sum over threads.
  double held_seconds = 0;
  // Records that were fetched, alone or in a range, while their rows were parked.
  uint64_t background_reads = 0;
  double background_read_seconds = 0;
  // For rows whose stages were measured: their number, and the time of each stage (Pipeline::stages).
  uint64_t timed_rows = 0;
  struct Stage {
    std::string name;
    double seconds = 0;
  };
  std::vector<Stage> stages;
  // For a job of several data sets, by their number: the rows that were made, and the threads' time for them, without
  // reads.
  struct Dataset {
    uint64_t rows = 0;
    double seconds = 0;
  };
  std::vector<Dataset> datasets;
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_JOB_TIMES_H_
