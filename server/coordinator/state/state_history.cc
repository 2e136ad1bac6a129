// Events for the history, and the description of a job or worker.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/near_name.h"
#include "base/status_macros.h"
#include "server/coordinator/state/coordinator_state.h"

namespace penstock::coordinator {
namespace {

// A limit that lasts this long is an event. Each explanation of a job takes time of the control loop.
constexpr Nanos kLimitLasts = 15 * kSecond;
constexpr Nanos kExplainEvery = 5 * kSecond;
// Events about a job's bad files. Each one parses the list of shards.
constexpr uint32_t kMostBadFiles = 32;
constexpr size_t kMostNames = 20;

// Returns the names, at most `most` of them.
std::string ListOf(const std::vector<std::string>& names, size_t most) {
  const size_t shown = std::min(names.size(), most);
  std::string text = absl::StrJoin(names.begin(), names.begin() + static_cast<ptrdiff_t>(shown), ", ");
  if (shown < names.size()) absl::StrAppend(&text, " and ", names.size() - shown, " more");
  return text;
}

// Returns the workers that own ranges, with their names.
std::map<std::string, std::string> OwnersOf(const plan::View& view) {
  std::map<std::string, std::string> owners;
  for (const plan::ViewRange& range : view.ranges) {
    const plan::ViewWorker& worker = view.workers[range.owner];
    owners[worker.id] = worker.name.empty() ? worker.id : worker.name;
  }
  return owners;
}

}  // namespace

void CoordinatorState::WatchLimits(Nanos now, Consequences* out) {
  if (jobs_.empty()) return;
  auto next = jobs_.upper_bound(explained_);
  if (next == jobs_.end()) next = jobs_.begin();
  explained_ = next->first;
  JobEntry& entry = next->second;
  LimitWatch& watch = entry.limit;
  if (!entry.ready() || !entry.job.paused_by().empty() || now - watch.looked < kExplainEvery) return;
  watch.looked = now;
  if (ReadersOf(entry, now).empty()) {
    watch.seen = {};
    return;
  }
  const v1::Explanation explained = ExplainJob(entry, 0, now);
  if (explained.limit() == v1::Explanation::LIMIT_UNKNOWN) return;
  LimitWatch::Value limit(explained.limit(), explained.worker());
  if (limit != watch.seen) {
    watch.seen = std::move(limit);
    watch.since = now;
  } else if (watch.seen != watch.told && now - watch.since >= kLimitLasts) {
    watch.told = watch.seen;
    out->events.push_back(EventOf(v1::HistoryEvent::LIMIT, explained_, "", explained.headline()));
  }
}

v1::HistoryEvent CoordinatorState::ViewEvent(const JobEntry& entry, const plan::View& next) {
  const std::map<std::string, std::string> owners = OwnersOf(next);
  const std::map<std::string, std::string> before = entry.view ? OwnersOf(*entry.view) : owners;
  std::vector<std::string> added, removed;
  for (const auto& [id, name] : owners) {
    if (!before.contains(id)) added.push_back(name);
  }
  for (const auto& [id, name] : before) {
    if (!owners.contains(id)) removed.push_back(name);
  }
  std::string text = absl::StrCat("view ", next.n, " on ", owners.size(), owners.size() == 1 ? " worker" : " workers");
  if (!added.empty()) absl::StrAppend(&text, ", with ", ListOf(added, 4));
  if (!removed.empty()) absl::StrAppend(&text, ", without ", ListOf(removed, 4));
  if (entry.view && added.empty() && removed.empty()) absl::StrAppend(&text, ", with other shares");
  return EventOf(v1::HistoryEvent::VIEW, entry.job.name(), "", std::move(text));
}

void CoordinatorState::AddBadFiles(const v1::StoredBadRecords& fresh, JobEntry* entry,
                                   std::vector<v1::HistoryEvent>* events) {
  if (entry->bad_files_told >= kMostBadFiles) return;
  std::map<uint64_t, const v1::BadRecord*> bad;
  for (const v1::BadRecord& record : fresh.records()) bad.emplace(record.record(), &record);
  const std::map<uint64_t, v1::BadRecord>& known = entry->quarantine.listed();
  uint64_t begin = 0;
  auto next = bad.begin();
  entry->frozen.ForEach([&](const v1::Shard& shard) {
    const uint64_t end = begin + shard.records();
    if (next != bad.end() && next->first < end) {
      const auto earlier = known.lower_bound(begin);
      if (earlier == known.end() || earlier->first >= end) {
        ++entry->bad_files_told;
        events->push_back(EventOf(v1::HistoryEvent::BAD_FILE, fresh.job(), "",
                                  absl::StrCat(shard.root(), "/", shard.path(), ", record ", next->first - begin, ": ",
                                               next->second->reason(), ": ", next->second->message())));
      }
      next = bad.lower_bound(end);
    }
    begin = end;
    return next != bad.end() && entry->bad_files_told < kMostBadFiles;
  });
}

absl::StatusOr<const WorkerEntry*> CoordinatorState::FindWorkerCalled(const std::string& name,
                                                                      const transport::Peer& caller) const {
  if (const WorkerEntry* const worker = workers_.Find(name)) return worker;
  std::vector<const WorkerEntry*> found;
  for (const auto& [id, worker] : workers_.all()) {
    if (worker.name == name || worker.info.address() == name || worker.info.host() == name) found.push_back(&worker);
  }
  // A lost worker stays in the list for an hour after another one has its name.
  if (found.size() > 1) {
    std::vector<const WorkerEntry*> beating;
    std::copy_if(found.begin(), found.end(), std::back_inserter(beating),
                 [](const WorkerEntry* worker) { return worker->Beats(); });
    if (!beating.empty()) found = std::move(beating);
  }
  if (found.size() == 1) return found[0];
  if (found.size() > 1) {
    std::vector<std::string> ids;
    for (const WorkerEntry* worker : found) ids.push_back(absl::StrCat(worker->info.id(), " (", worker->name, ")"));
    return absl::FailedPreconditionError(
        absl::StrCat(found.size(), " workers are \"", name, "\"; name one by its id: ", ListOf(ids, kMostNames)));
  }
  std::vector<std::string> jobs, workers, all;
  for (const auto& [job, entry] : jobs_) {
    if (caller.MayAccess(job).ok()) jobs.push_back(job);
  }
  for (const auto& [id, worker] : workers_.all()) workers.push_back(worker.name);
  all = jobs;
  all.insert(all.end(), workers.begin(), workers.end());
  return absl::NotFoundError(absl::StrCat("no job or worker \"", name, "\"", DidYouMean(name, all),
                                          "; jobs: ", jobs.empty() ? "none" : ListOf(jobs, kMostNames),
                                          "; workers: ", workers.empty() ? "none" : ListOf(workers, kMostNames)));
}

void CoordinatorState::AddEvents(const std::string& job, const std::string& worker, const transport::Peer& caller,
                                 v1::DescribeReply* reply) const {
  for (const auto& [number, event] : history_.events()) {
    const bool of_coordinator = event.job().empty() && event.worker().empty();
    const bool concerned = (!job.empty() && event.job() == job) || (!worker.empty() && event.worker() == worker);
    // A caller that may read some jobs does not see other callers, as in the status.
    if (!caller.jobs.empty() && event.kind() == v1::HistoryEvent::REJECTION) continue;
    if (!of_coordinator && !concerned) continue;
    *reply->add_events() = event;
  }
  reply->set_dropped_events(history_.dropped());
}

}  // namespace penstock::coordinator
