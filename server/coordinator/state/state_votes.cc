// Evaluates the reports of sessions against workers.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "pipeline/plan/job_order.h"
#include "server/coordinator/state/coordinator_state.h"

namespace penstock::coordinator {
namespace {

// The ranges of a job that one worker owns.
struct OwnedPart {
  const JobEntry* entry = nullptr;
  std::vector<plan::ViewRange> ranges;

  // Returns whether rows of the session come from these ranges.
  bool Serves(const v1::OpenSessionRequest& session) const {
    if (entry->view->policy == plan::AssignPolicy::kByRecord) return true;
    // The slice of a larger step has all keys of the slice of a smaller step.
    const uint64_t step = plan::StepSizesOf(entry->job.spec().batch(), entry->batches, session.batch_size()).Largest();
    const uint64_t slots = step / session.world_size();
    const uint64_t begin = plan::RankKey(session.rank() * slots, step);
    const uint64_t last = plan::RankKey((session.rank() + 1) * slots - 1, step);
    return std::any_of(ranges.begin(), ranges.end(),
                       [&](const plan::ViewRange& range) { return range.begin <= last && begin < range.end; });
  }
};

// Returns the parts by job, without jobs of which the worker owns nothing.
std::map<std::string, OwnedPart> PartsOf(const std::string& worker, const std::map<std::string, JobEntry>& jobs) {
  std::map<std::string, OwnedPart> parts;
  for (const auto& [name, entry] : jobs) {
    if (!entry.ready() || !entry.view) continue;
    const uint32_t index = entry.view->FindWorker(worker);
    OwnedPart part{&entry, {}};
    for (const plan::ViewRange& range : entry.view->ranges) {
      if (range.owner == index) part.ranges.push_back(range);
    }
    if (!part.ranges.empty()) parts.emplace(name, std::move(part));
  }
  return parts;
}

}  // namespace

// Removes a worker that more than half of its trainers' names cannot use; without --tokens, more than half of their
// processes. Votes remove at most half of all workers, and at most half of those that are able to serve a job.
void CoordinatorState::JudgeWorker(Nanos now, const std::string& id, Consequences* out) {
  const std::map<std::string, OwnedPart> parts = PartsOf(id, jobs_);
  const SessionTable::Votes votes = sessions_.CountVotes(id, now, [&](const v1::OpenSessionRequest& session) {
    const auto part = parts.find(session.job());
    return part != parts.end() && part->second.Serves(session);
  });
  if (votes.against == 0 || votes.against * 2 <= votes.names) return;
  if (!MayVoteOut([](const WorkerEntry&) { return true; })) return;
  for (const auto& [name, part] : parts) {
    if (!MayVoteOut([&, entry = part.entry](const WorkerEntry& worker) { return CanServe(worker, *entry); })) return;
  }
  workers_.RemoveOnReports(now, id, out);
  sessions_.ForgetVotes(id);
}

bool CoordinatorState::MayVoteOut(absl::FunctionRef<bool(const WorkerEntry&)> concerns) const {
  size_t live = 0, voted_out = 0;
  for (const auto& [id, worker] : workers_.all()) {
    if (!concerns(worker)) continue;
    live += worker.live() ? 1 : 0;
    voted_out += worker.voted_out ? 1 : 0;
  }
  return 2 * (voted_out + 1) <= live + voted_out;
}

}  // namespace penstock::coordinator
