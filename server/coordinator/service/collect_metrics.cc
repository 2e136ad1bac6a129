#include "server/coordinator/service/collect_metrics.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace penstock::coordinator {
namespace {

// Like the answer to an ExplainRequest without a job.
constexpr size_t kMostExplained = 64;

struct Collection {
  ControlLoop* loop = nullptr;
  SnapshotDone done;
  std::shared_ptr<CoordinatorSnapshot> snapshot = std::make_shared<CoordinatorSnapshot>();
  std::vector<std::string> jobs;  // to explain
  size_t next = 0;
};

void Read(const std::shared_ptr<Collection>& collection, ControlLoop::Query query) {
  if (collection->loop->Read(std::move(query))) return;
  collection->done(absl::ResourceExhaustedError("the coordinator has too many requests waiting; try again"));
}

ServiceCounts CountsOf(const ControlLoop::Load& load) {
  ServiceCounts counts;
  counts.handled = load.handled;
  counts.rejected = load.rejected;
  counts.queued = load.queued;
  counts.unstored = load.unstored;
  counts.watchers = load.watches;
  counts.answers_encoded = load.answers_encoded;
  counts.answers_empty = load.answers_empty;
  counts.stored = load.commits.stored;
  counts.not_stored = load.commits.not_stored;
  counts.unknown = load.commits.unknown;
  counts.superseded = load.commits.superseded;
  counts.committing = load.commits.in_flight;
  counts.uncommitted = load.uncommitted;
  return counts;
}

void ExplainNext(const std::shared_ptr<Collection>& collection) {
  if (collection->next == collection->jobs.size()) return collection->done(collection->snapshot);
  Read(collection, [collection](const CoordinatorState& state, Nanos now) {
    v1::ExplainRequest request;
    request.set_job(collection->jobs[collection->next++]);
    // A job that has ended meanwhile has no explanation.
    absl::StatusOr<v1::ExplainReply> reply = state.Explain(request, now);
    if (reply.ok() && reply->jobs_size() == 1) {
      collection->snapshot->explanations.push_back(std::move(*reply->mutable_jobs(0)));
    }
    ExplainNext(collection);
  });
}

}  // namespace

void CollectMetrics(ControlLoop* loop, SnapshotDone done) {
  const auto collection = std::make_shared<Collection>();
  collection->loop = loop;
  collection->done = std::move(done);
  Read(collection, [collection](const CoordinatorState& state, Nanos now) {
    CoordinatorSnapshot& snapshot = *collection->snapshot;
    snapshot.status = state.Status(now, kMeasuredDatasets);
    snapshot.trainers = state.Trainers(now);
    snapshot.trainer_totals = state.trainer_totals().ranks();
    snapshot.job_totals = state.job_totals().jobs();
    snapshot.service = CountsOf(collection->loop->load());
    collection->jobs = state.ReadJobs(now);
    if (collection->jobs.size() > kMostExplained) {
      snapshot.unexplained_jobs = collection->jobs.size() - kMostExplained;
      collection->jobs.resize(kMostExplained);
    }
    ExplainNext(collection);
  });
}

}  // namespace penstock::coordinator
