// The metrics of trainers, by job and rank. Pure.
#ifndef PENSTOCK_SERVER_COORDINATOR_METRICS_TRAINER_METRICS_H_
#define PENSTOCK_SERVER_COORDINATOR_METRICS_TRAINER_METRICS_H_

#include "server/coordinator/metrics/coordinator_snapshot.h"
#include "server/metrics/metric_set.h"

namespace penstock::coordinator {

// Adds the metrics of the trainers of READY jobs, and the sums of jobs that only trainers report. Sessions of one rank,
// such as those of two runs of a job, have one series: sums of counters, and the largest of other values.
//
// A job with more than kMostRankSeries ranks has the ranks "minimum", "median" and "maximum" instead. Each counter of
// them is an order statistic of the ranks' counters. It does not decrease while the ranks stay.
void AddTrainers(const CoordinatorSnapshot& snapshot, server::MetricSet* out);

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_METRICS_TRAINER_METRICS_H_
