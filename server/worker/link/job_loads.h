// The part of heartbeats about each job: how its rows spend their time in this worker.
#ifndef PENSTOCK_SERVER_WORKER_LINK_JOB_LOADS_H_
#define PENSTOCK_SERVER_WORKER_LINK_JOB_LOADS_H_

#include <map>
#include <string>
#include <vector>

#include "penstock/v1/control.pb.h"
#include "pipeline/loader/job_times.h"
#include "server/worker/stream/send_times.h"

namespace penstock::worker {

// Limits of jobs and stages in a heartbeat. Jobs with streams come first, then those that took most time. The stages
// that took most time are named, and the time of the others is added up as "other".
constexpr size_t kMostJobLoads = 16;
constexpr size_t kMostStages = 24;
// Limit of data sets of a job in a heartbeat: those that took most time.
constexpr size_t kMostDatasets = 32;

// Adds the load of each job to load->jobs. Combines jobs of the same name, for example a new submission and one that
// clients still read.
void AddJobLoads(const std::vector<loader::JobTimes>& times, const std::map<std::string, JobSends::Sums>& sends,
                 v1::WorkerLoad* load);

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_LINK_JOB_LOADS_H_
