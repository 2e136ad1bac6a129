// What heartbeats say of each job: where its rows' time goes here.
#ifndef PENSTOCK_SERVER_WORKER_LINK_JOB_LOADS_H_
#define PENSTOCK_SERVER_WORKER_LINK_JOB_LOADS_H_

#include <map>
#include <string>
#include <vector>

#include "penstock/v1/control.pb.h"
#include "pipeline/loader/job_times.h"
#include "server/worker/stream/send_times.h"

namespace penstock {

// Jobs and stages that a heartbeat names at most: those that took most time. The times of stages left out are in one
// named "other".
constexpr size_t kMostJobLoads = 16;
constexpr size_t kMostStages = 24;

// Adds to load->jobs. Jobs of one name (submitted again, while the one before is still read) are told together.
void AddJobLoads(const std::vector<JobTimes>& times, const std::map<std::string, JobSends::Sums>& sends,
                 v1::WorkerLoad* load);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_LINK_JOB_LOADS_H_
