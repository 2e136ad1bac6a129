// The coordinator's counters as metrics (server/metrics). Pure.
#ifndef PENSTOCK_SERVER_COORDINATOR_METRICS_COORDINATOR_METRICS_H_
#define PENSTOCK_SERVER_COORDINATOR_METRICS_COORDINATOR_METRICS_H_

#include <cstdint>
#include <string>

#include "server/coordinator/metrics/coordinator_snapshot.h"
#include "server/metrics/metric_set.h"

namespace penstock::coordinator {

// A job with more ranks has the minimum, the median and the maximum instead of series for each rank.
constexpr uint32_t kMostRankSeries = 256;
// A job with more ranks has one histogram of waits, of all ranks together.
constexpr uint32_t kMostRankHistograms = 16;
// A worker that died or left has series for this long after its last heartbeat.
constexpr Nanos kShowLost = 240 * kSecond;

void AddCoordinator(const CoordinatorSnapshot& snapshot, server::MetricSet* out);

// Returns AddCoordinator's metrics in Prometheus' text format.
std::string CoordinatorMetricsText(const CoordinatorSnapshot& snapshot);

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_METRICS_COORDINATOR_METRICS_H_
