// Purges of jobs: a job is cancelled, all processes free what they keep of its files, and then it is deleted. Until
// then the job stays in the store, so a purge that is interrupted can be repeated.
#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "net/protocols_proto.h"
#include "server/coordinator/state/coordinator_state.h"
#include "server/coordinator/state/event_log.h"

namespace penstock::coordinator {
namespace {

// The first protocol with the task `purge`.
constexpr uint32_t kPurgeProtocol = 2;

uint64_t FileKey(const v1::Shard& shard) { return Fingerprint().Add(shard.root()).Add(shard.path()).value(); }

// Calls f for each shard that the submission is known to use.
void ForEachShard(const JobEntry& entry, const std::function<void(const v1::Shard&)>& f) {
  entry.frozen.ForEach([&f](const v1::Shard& shard) {
    f(shard);
    return true;
  });
  for (const v1::Shard& shard : entry.shards) f(shard);
}

// Returns the container of each data set, at least one.
std::vector<v1::Container> ContainersOf(const JobEntry& entry) {
  const auto& set_shards = entry.job.snapshot().set_shards();
  std::vector<v1::Container> containers(static_cast<size_t>(std::max(1, set_shards.size())), v1::TFRECORD);
  int set = 0;
  uint64_t left = set_shards.empty() ? UINT64_MAX : set_shards[0];  // shards of the set to come
  entry.frozen.ForEach([&](const v1::Shard& shard) {
    while (left == 0 && set + 1 < set_shards.size()) left = set_shards[++set];
    containers[static_cast<size_t>(set)] = shard.container();
    --left;
    return true;
  });
  return containers;
}

std::string BytesText(const v1::PurgeReply& reply) {
  uint64_t bytes = 0;
  for (const v1::PurgePart& part : reply.parts()) {
    bytes += part.freed().indexes() + part.freed().memory() + part.freed().disk();
  }
  return absl::StrCat("purged: ", bytes, " bytes of indexes and caches");
}

}  // namespace

PurgePlan CoordinatorState::PlanPurge(const JobEntry& entry) const {
  PurgePlan plan;
  std::set<uint64_t> files, contents;  // keys of the job's files, and content hashes
  const auto collect = [&](const v1::Shard& shard) {
    if (!files.insert(FileKey(shard)).second) return;
    ++plan.all_shards;
    contents.insert(shard.content_hash());
    v1::Shard& file = plan.shards.emplace_back();
    file.set_root(shard.root());
    file.set_path(shard.path());
  };
  ForEachShard(entry, collect);
  plan.data_set = entry.frozen.size() > 0 ? entry.job.snapshot().fingerprint() : 0;
  plan.spec = entry.job.spec();
  plan.containers = ContainersOf(entry);
  if (entry.next != nullptr) ForEachShard(*entry.next, collect);
  std::set<uint64_t> seen;  // many jobs may have the same shards
  const auto keep = [&](const JobEntry& other) {
    const bool is_known = other.frozen.size() > 0 && !seen.insert(Hash64(other.frozen.wire())).second;
    if (is_known) return;
    if (other.frozen.size() > 0 && other.job.snapshot().fingerprint() == plan.data_set) {
      plan.data_set = 0;
      plan.kept_records = true;
    }
    ForEachShard(other, [&](const v1::Shard& shard) {
      files.erase(FileKey(shard));
      contents.erase(shard.content_hash());
    });
  };
  for (const auto& [name, other] : jobs_) {
    if (name == entry.job.name()) continue;
    keep(other);
    if (other.next != nullptr) keep(*other.next);
  }
  std::erase_if(plan.shards, [&files](const v1::Shard& shard) { return !files.contains(FileKey(shard)); });
  contents.erase(0);  // not indexed yet
  plan.blobs.assign(contents.begin(), contents.end());
  return plan;
}

std::vector<PurgeWorker> CoordinatorState::PurgeWorkers(Nanos now) const {
  std::vector<PurgeWorker> workers;
  for (const auto& [id, worker] : workers_.all()) {
    if (worker.state == v1::WorkerStatus::LEFT) continue;  // its process, and so its memory, is gone
    std::string lost;
    if (!worker.Beats()) {
      lost = workers_.WhyLost(now, worker);
    } else if (worker.info.protocols().newest() < kPurgeProtocol) {
      const Release release{worker.info.version(), net::ProtocolsOf(worker.info.protocols())};
      lost = absl::StrCat(release.ToString(), " cannot purge: upgrade it");
    }
    workers.push_back({id, absl::StrCat("worker ", worker.name), std::move(lost)});
  }
  return workers;
}

absl::StatusOr<std::optional<PurgeAnswer>> CoordinatorState::Purge(Nanos now, const v1::PurgeRequest& request,
                                                                   const transport::Peer& caller, Consequences* out) {
  const auto found = jobs_.find(request.job());
  const uint64_t uid = request.job_uid();
  if (uid != 0 && (found == jobs_.end() || found->second.job.uid() != uid)) {
    return absl::NotFoundError(absl::StrCat("the purge of job ", request.job(),
                                            " has ended: the job was deleted or submitted again meanwhile"));
  }
  if (found == jobs_.end()) return NoSuchJob(request.job(), caller);
  const JobEntry& entry = found->second;
  PS_RETURN_IF_ERROR(CheckMayChange(entry, caller));
  PS_RETURN_IF_ERROR(CheckEnded(entry, request.running()));
  if (uid == 0) purges_.Retry(entry.job.uid());
  if (purges_.Runs(entry.job.uid())) return FollowPurge(now, entry, out);
  PS_RETURN_IF_ERROR(purges_.CheckRoom(now));
  PurgePlan plan = PlanPurge(entry);  // the end of a job forgets the shards of its preparation
  if (!entry.preparing() && !entry.ready()) return StartPurge(now, entry, std::move(plan), out);
  CancelJob(entry, "", out);
  Change& change = out->changes.back();
  change.end = [cancel = std::move(change.end), name = request.job(), plan = std::move(plan)](
                   CoordinatorState& state, Nanos at, const absl::Status& stored, Effects* effects,
                   Consequences* then) mutable {
    std::move(cancel)(state, at, stored, effects, then);
    if (stored.ok()) effects->reply = *state.StartPurge(at, state.jobs_.at(name), std::move(plan), then);
  };
  return std::nullopt;
}

// The coordinator has its own part of the work, so no purge is complete when it starts.
std::optional<PurgeAnswer> CoordinatorState::StartPurge(Nanos now, const JobEntry& entry, PurgePlan plan,
                                                        Consequences* out) {
  purges_.Start(now, entry.job.name(), entry.job.uid(), std::move(plan));
  out->wake_workers = true;  // heartbeats fetch the tasks
  return FollowPurge(now, entry, out);
}

std::optional<PurgeAnswer> CoordinatorState::FollowPurge(Nanos now, const JobEntry& entry, Consequences* out) {
  PurgeAnswer answer;
  answer.reply = purges_.Describe(now, entry.job.uid(), PurgeWorkers(now));
  if (const std::vector<uint64_t>* const own = purges_.OwnWork(entry.job.uid()); own != nullptr) answer.blobs = *own;
  for (const v1::PurgePart& part : answer.reply.parts()) {
    if (part.state() != v1::PurgePart::DONE) return answer;
  }
  DeleteJob(entry, BytesText(answer.reply), out);
  Change& change = out->changes.back();
  change.end = [remove = std::move(change.end), reply = std::move(answer.reply)](
                   CoordinatorState& state, Nanos at, const absl::Status& stored, Effects* effects,
                   Consequences* then) mutable {
    std::move(remove)(state, at, stored, effects, then);
    if (!stored.ok()) return;
    state.purges_.Forget(reply.job_uid());
    reply.set_deleted(true);
    effects->reply = PurgeAnswer{std::move(reply), std::nullopt};
  };
  return std::nullopt;
}

void CoordinatorState::AddPurges(Nanos now, const WorkerEntry& worker,
                                 google::protobuf::RepeatedPtrField<v1::Task>* tasks) {
  if (worker.info.protocols().newest() < kPurgeProtocol) return;
  const auto exists = [this](const std::string& job, uint64_t uid) {
    const auto found = jobs_.find(job);
    return found != jobs_.end() && found->second.job.uid() == uid;
  };
  purges_.AddTasks(
      now, worker.info.id(), exists, [this] { return board_.NewId(); }, tasks);
}

}  // namespace penstock::coordinator
