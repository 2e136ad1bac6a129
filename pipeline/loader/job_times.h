// What a loader's threads did for one job, in seconds: for whoever explains what holds the job back.
#ifndef PENSTOCK_PIPELINE_LOADER_JOB_TIMES_H_
#define PENSTOCK_PIPELINE_LOADER_JOB_TIMES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

// Sums since the job's first session here. Seconds are sums over threads, up to now; what is under way counts.
struct JobTimes {
  std::string job;
  uint64_t rows = 0;  // made
  uint64_t bytes_read = 0;
  double making_seconds = 0;   // on its rows, from the record to the slot
  double reading_seconds = 0;  // of these, in storage's calls
  // Threads without a row to make, while of this job
  double storage_seconds = 0;      // rows were put aside until their shard is ready or their record was brought
  double memory_seconds = 0;       // rows waited for memory of the budget
  double unrequested_seconds = 0;  // every row that was asked for was made, or in making
  // Records that were brought while their rows waited aside.
  uint64_t background_reads = 0;
  double background_read_seconds = 0;
  // Of rows whose stages were measured: Pipeline::stages, and the time of each.
  uint64_t timed_rows = 0;
  struct Stage {
    std::string name;
    double seconds = 0;
  };
  std::vector<Stage> stages;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_JOB_TIMES_H_
