// Builds the updates for watchers: the changes of each job that they lack.
#include <map>
#include <string>
#include <utility>

#include "base/hash.h"
#include "net/job_mirror.h"
#include "server/coordinator/state/coordinator_state.h"

namespace penstock::coordinator {
namespace {

v1::JobMetadata WholeMetadata(const JobEntry& entry) {
  v1::JobMetadata metadata = net::MetadataOf(entry.job);
  entry.frozen.AddTo(metadata.mutable_snapshot());
  return metadata;
}

// Returns an id of a READY job's content, never 0. It survives restarts. Another submission has another id, even with
// the same content.
uint64_t MetadataId(const JobEntry& entry) {
  const uint64_t hash = HashWords({entry.job.uid(), Hash64(WholeMetadata(entry).SerializeAsString())});
  return hash != 0 ? hash : 1;
}

}  // namespace

std::optional<v1::Job> CoordinatorState::FindJob(const std::string& name) const {
  const auto found = jobs_.find(name);
  if (found == jobs_.end()) return std::nullopt;
  return WholeJob(found->second);
}

void CoordinatorState::TouchJob(JobEntry* entry) {
  if (entry->is_next) entry = &jobs_.at(entry->job.name());  // the job's update contains it
  by_revision_.erase(entry->job.revision());
  entry->job.set_revision(++revision_);
  by_revision_[revision_] = entry->job.name();
  entry->decisions.Publish(revision_);
  news_.jobs.insert(entry->job.name());
  if (!entry->ready()) {
    entry->metadata_id = 0;
  } else if (entry->metadata_id == 0) {
    entry->metadata_id = MetadataId(*entry);
    entry->metadata_revision = revision_;
  }
}

void CoordinatorState::ForgetJob(const JobEntry& entry) { by_revision_.erase(entry.job.revision()); }

v1::JobUpdate CoordinatorState::WhatIsNew(const JobEntry& entry, uint64_t base_revision,
                                          const v1::HeldJob& held) const {
  v1::JobUpdate update;
  *update.mutable_record() = net::RecordOf(entry.job, entry.metadata_id);
  if (entry.next != nullptr) *update.mutable_record()->mutable_next() = net::RecordOf(entry.next->job, 0);
  if (entry.metadata_id == 0) return update;
  // Data of another submission is of no use. Its view is of no use either, because view numbers begin again.
  const bool same = held.metadata_id() == entry.metadata_id;
  const bool has = base_revision != 0 ? base_revision >= entry.metadata_revision : same;
  if (!has) *update.mutable_metadata() = WholeMetadata(entry);
  entry.decisions.Tell(base_revision != 0 ? entry.decisions.SizeAt(base_revision)
                       : same             ? held.decided_records()
                                          : 0,
                       &update);
  entry.views.Tell(entry.job.view(), base_revision, same ? held : v1::HeldJob::default_instance(), &update);
  return update;
}

absl::StatusOr<std::optional<v1::WatchReply>> CoordinatorState::Watch(const v1::WatchRequest& request) const {
  const auto of_this_term = [&](uint64_t revision) {
    return revision <= revision_ && revision >> 32 == term_ ? revision : 0;
  };
  const uint64_t known = of_this_term(request.known_revision());
  const uint64_t base = known == 0 ? 0 : of_this_term(request.base_revision());
  std::map<std::string, const v1::HeldJob*> all_held;
  if (base == 0) {
    for (const v1::HeldJob& held : request.held()) all_held[held.name()] = &held;
  }
  const auto held_of = [&](const std::string& name) -> const v1::HeldJob& {
    const auto held = all_held.find(name);
    return held == all_held.end() ? v1::HeldJob::default_instance() : *held->second;
  };
  v1::WatchReply reply;
  reply.set_revision(revision_);
  for (auto gone = removed_.rbegin(); gone != removed_.rend() && gone->first > known; ++gone) {
    if (!request.job().empty() && request.job() != gone->second) continue;
    if (!jobs_.contains(gone->second)) reply.add_removed(gone->second);
  }
  if (!request.job().empty()) {
    const auto found = jobs_.find(request.job());
    if (found == jobs_.end()) {
      if (reply.removed().empty()) return absl::NotFoundError(absl::StrCat("no job \"", request.job(), "\""));
      return std::optional<v1::WatchReply>(std::move(reply));
    }
    if (found->second.job.revision() <= known) return std::optional<v1::WatchReply>();
    *reply.add_jobs() = WhatIsNew(found->second, base, held_of(request.job()));
    return std::optional<v1::WatchReply>(std::move(reply));
  }
  if (known == revision_) return std::optional<v1::WatchReply>();
  size_t bytes = 0;
  for (auto changed = by_revision_.upper_bound(known); changed != by_revision_.end(); ++changed) {
    v1::JobUpdate update = WhatIsNew(jobs_.at(changed->second), base, held_of(changed->second));
    bytes += update.ByteSizeLong();
    if (bytes > options_.max_watch_bytes && !reply.jobs().empty()) {
      reply.set_revision(reply.jobs().rbegin()->record().revision());
      reply.set_more(true);
      break;
    }
    *reply.add_jobs() = std::move(update);
  }
  return std::optional<v1::WatchReply>(std::move(reply));
}

}  // namespace penstock::coordinator
