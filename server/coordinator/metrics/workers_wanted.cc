#include "server/coordinator/metrics/workers_wanted.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace penstock::coordinator {
namespace {

using Limit = v1::Explanation;

// A trainer that computes for a smaller fraction of its time takes rows at any rate, so its demand is unknown.
constexpr double kComputes = 0.05;
constexpr double kMostWorkers = 1e6;

struct Demand {
  std::optional<double> rows_per_second;  // nullopt: unknown
  bool lacks_workers = false;
};

Demand DemandOf(const v1::Explanation& job) {
  switch (job.limit()) {
    case Limit::TRAINER:
    case Limit::NETWORK:
    case Limit::WINDOW:
    case Limit::COPYING:
    case Limit::SHARED_MEMORY:
    case Limit::CAP:
      return {job.rows_per_second(), false};
    case Limit::CPU:
    case Limit::STORAGE:
    case Limit::MEMORY:
    case Limit::SLOW_WORKER: {
      const double computes = 1 - job.waited();
      if (computes < kComputes) return {std::nullopt, true};
      return {job.rows_per_second() / computes, true};
    }
    default:
      return {std::nullopt, true};
  }
}

}  // namespace

uint32_t WorkersWanted(const CoordinatorSnapshot& snapshot) {
  double capacity = 0, measured = 0, live = 0;
  for (const v1::WorkerStatus& worker : snapshot.status.workers()) {
    if (worker.state() != v1::WorkerStatus::LIVE) continue;
    live += 1;
    if (!(worker.load().capacity() > 0) || !std::isfinite(worker.load().capacity())) continue;
    measured += 1;
    capacity += worker.load().capacity();
  }
  double demand = 0;
  bool keep = snapshot.unexplained_jobs > 0;  // the live workers
  for (const v1::Explanation& job : snapshot.explanations) {
    const Demand of = DemandOf(job);
    const bool known = of.rows_per_second.has_value() && std::isfinite(*of.rows_per_second);
    keep = keep || of.lacks_workers || !known;
    if (known) demand += *of.rows_per_second;
  }
  for (const v1::StatusReply::JobStatus& job : snapshot.status.jobs()) {
    keep = keep || job.state() == v1::PREPARING || job.next().state() == v1::PREPARING;
  }
  double wanted = 1;
  if (measured > 0) {
    wanted = std::ceil(demand * measured / capacity - 0.05);
  } else if (!snapshot.explanations.empty()) {
    keep = true;
  }
  if (keep) wanted = std::max(wanted, live);
  return static_cast<uint32_t>(std::clamp(wanted, 1.0, kMostWorkers));
}

}  // namespace penstock::coordinator
