#include "net/job_mirror.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "net/view_delta.h"

namespace penstock::net {
namespace {

// Returns a view's position in the order of views.
std::pair<uint64_t, uint64_t> NumberOf(const v1::View* view) {
  return view == nullptr ? std::pair<uint64_t, uint64_t>() : std::pair(view->term(), view->number());
}

// Returns true if `late` is older than `known`. Revisions begin with the coordinator's term, which increases over its
// restarts. A coordinator that started without the jobs of its predecessor gives its jobs other uids.
bool Overtaken(const v1::JobRecord& late, const v1::JobRecord& known) {
  const bool comparable = late.uid() == known.uid() || late.revision() >> 32 == known.revision() >> 32;
  return comparable && late.revision() < known.revision();
}

}  // namespace

v1::Job ToJob(const WatchedJob& watched) {
  v1::Job job;
  const v1::JobRecord& record = watched.record;
  job.set_name(record.name());
  job.set_uid(record.uid());
  job.set_revision(record.revision());
  job.set_state(record.state());
  job.set_error(record.error());
  job.set_waiting(record.waiting());
  job.set_owner(record.owner());
  job.set_paused_by(record.paused_by());
  job.set_shards_indexed(record.shards_indexed());
  job.set_shards_total(record.shards_total());
  if (record.has_files_look()) *job.mutable_files_look() = record.files_look();
  if (watched.metadata != nullptr) {
    *job.mutable_spec() = watched.metadata->spec();
    *job.mutable_snapshot() = watched.metadata->snapshot();
    *job.mutable_columns() = watched.metadata->columns();
    job.set_order_fingerprint(watched.metadata->order_fingerprint());
    job.set_pipeline_fingerprint(watched.metadata->pipeline_fingerprint());
  }
  if (watched.view != nullptr) *job.mutable_view() = *watched.view;
  return job;
}

std::string PausedText(const std::string& job, const std::string& paused_by) {
  if (paused_by.empty()) return "";
  return absl::StrCat(paused_by, " paused job ", job, ": `penstock resume ", job, "` lets it continue");
}

v1::JobRecord RecordOf(const v1::Job& job, uint64_t metadata_id) {
  v1::JobRecord record;
  record.set_name(job.name());
  record.set_uid(job.uid());
  record.set_revision(job.revision());
  record.set_state(job.state());
  record.set_error(job.error());
  record.set_waiting(job.waiting());
  record.set_owner(job.owner());
  record.set_paused_by(job.paused_by());
  record.set_shards_indexed(job.shards_indexed());
  record.set_shards_total(job.shards_total());
  if (job.has_files_look()) *record.mutable_files_look() = job.files_look();
  record.set_metadata_id(metadata_id);
  return record;
}

v1::JobMetadata MetadataOf(const v1::Job& job) {
  v1::JobMetadata metadata;
  *metadata.mutable_spec() = job.spec();
  *metadata.mutable_snapshot() = job.snapshot();
  *metadata.mutable_columns() = job.columns();
  metadata.set_order_fingerprint(job.order_fingerprint());
  metadata.set_pipeline_fingerprint(job.pipeline_fingerprint());
  return metadata;
}

v1::HeldJob JobMirror::Held(const std::string& name) const {
  v1::HeldJob held;
  held.set_name(name);
  const auto found = jobs_.find(name);
  if (found == jobs_.end()) return held;
  held.set_metadata_id(found->second.metadata_id);
  if (found->second.job.decided != nullptr) held.set_decided_records(found->second.job.decided->size());
  if (const v1::View* view = found->second.job.view.get(); view != nullptr) {
    held.set_view_term(view->term());
    held.set_view_number(view->number());
  }
  return held;
}

v1::WatchRequest JobMirror::NextRequest(uint32_t wait_ms) const {
  v1::WatchRequest request;
  request.set_job(job_);
  request.set_wait_ms(wait_ms);
  request.set_known_revision(known_);
  request.set_base_revision(base_);
  if (base_ != 0) return request;
  for (const auto& [name, entry] : jobs_) {
    if (entry.metadata_id != 0 || entry.job.view != nullptr) *request.add_held() = Held(name);
  }
  return request;
}

absl::Status JobMirror::TakeDecided(const v1::JobUpdate& update, Entry* entry) {
  const uint64_t total = update.record().decided_records();
  const uint64_t known = entry->job.decided == nullptr ? 0 : entry->job.decided->size();
  const uint64_t begin = update.decided().begin();
  if (begin <= known && !update.decided().records().empty()) {
    std::vector<uint64_t> records;
    records.reserve(begin + static_cast<uint64_t>(update.decided().records_size()));
    if (begin > 0) records.insert(records.end(), entry->job.decided->data(), entry->job.decided->data() + begin);
    records.insert(records.end(), update.decided().records().begin(), update.decided().records().end());
    entry->job.decided = std::make_shared<const std::vector<uint64_t>>(std::move(records));
  }
  if ((entry->job.decided == nullptr ? 0 : entry->job.decided->size()) == total) return absl::OkStatus();
  entry->job.decided = nullptr;
  return absl::InvalidArgumentError(
      absl::StrCat("job ", update.record().name(), ": the update does not contain all decided records"));
}

// Applies `update` to `entry`, a copy of the known state.
absl::Status JobMirror::Take(const v1::JobUpdate& update, Entry* entry) const {
  const v1::JobRecord& record = update.record();
  if (record.uid() != entry->job.record.uid()) *entry = Entry();  // another submission: drop the old job's state
  // Decisions are valid for the snapshot of their metadata only.
  if (record.metadata_id() != entry->metadata_id) entry->job.decided = nullptr;
  if (update.has_metadata()) {
    entry->job.metadata = std::make_shared<const v1::JobMetadata>(update.metadata());
    entry->metadata_id = record.metadata_id();
  } else if (record.metadata_id() == 0) {
    entry->job.metadata = nullptr;
    entry->metadata_id = 0;
  } else if (record.metadata_id() != entry->metadata_id) {
    entry->job.metadata = nullptr;
    entry->metadata_id = 0;
    return absl::InvalidArgumentError(absl::StrCat("job ", record.name(), ": its metadata is missing"));
  }
  if (update.has_view()) entry->job.view = std::make_shared<const v1::View>(update.view());
  for (const v1::ViewDelta& delta : update.view_deltas()) {
    const v1::View* const before = entry->job.view.get();
    if (before != nullptr && std::pair(delta.term(), delta.number()) <= NumberOf(before)) continue;
    absl::StatusOr<v1::View> after = ApplyDelta(before == nullptr ? v1::View() : *before, delta);
    if (!after.ok()) {
      entry->job.view = nullptr;
      return absl::Status(after.status().code(),
                          absl::StrCat("job ", record.name(), ": ", std::string(after.status().message())));
    }
    entry->job.view = std::make_shared<const v1::View>(*std::move(after));
  }
  PS_RETURN_IF_ERROR(TakeDecided(update, entry));
  entry->job.record = record;
  return absl::OkStatus();
}

absl::StatusOr<WatchedJob> JobMirror::Apply(const v1::JobUpdate& update, uint64_t revision) {
  const WatchedJob* const known = Find(update.record().name());
  if (known != nullptr && Overtaken(update.record(), known->record)) return *known;
  v1::WatchReply reply;
  *reply.add_jobs() = update;
  reply.set_revision(known_ == 0 ? revision : known_);
  reply.set_more(known_ != 0);
  PS_ASSIGN_OR_RETURN(JobChanges changes, Apply(reply));
  if (changes.jobs.empty()) return absl::InvalidArgumentError("the coordinator sent an update of another job");
  return std::move(changes.jobs.front());
}

absl::StatusOr<JobChanges> JobMirror::Apply(const v1::WatchReply& reply) {
  JobChanges changes;
  std::map<std::string, Entry> taken;
  for (const v1::JobUpdate& update : reply.jobs()) {
    const std::string& name = update.record().name();
    if (!job_.empty() && name != job_) continue;
    const auto before = jobs_.find(name);
    Entry entry = before == jobs_.end() ? Entry() : before->second;
    if (absl::Status fits = Take(update, &entry); !fits.ok()) {
      // Take() has dropped the parts that did not fit from `entry`.
      if (before != jobs_.end()) {
        WatchedJob& known = before->second.job;
        if (update.record().uid() != known.record.uid()) entry = Entry();  // parts of another submission than `record`
        known.metadata = entry.job.metadata;
        known.view = entry.job.view;
        known.decided = entry.job.decided;
        before->second.metadata_id = entry.metadata_id;
      }
      Lost();
      return fits;
    }
    changes.jobs.push_back(entry.job);
    taken[name] = std::move(entry);
  }
  for (auto& [name, entry] : taken) jobs_[name] = std::move(entry);
  for (const std::string& name : reply.removed()) {
    if (!job_.empty() && name != job_) continue;
    jobs_.erase(name);
    changes.removed.push_back(name);
  }
  known_ = reply.revision();
  if (!reply.more()) base_ = known_;
  return changes;
}

void JobMirror::Lost() { known_ = base_ = 0; }

void JobMirror::LetMetadataGo(const std::string& name) {
  const auto found = jobs_.find(name);
  if (found != jobs_.end()) found->second.job.metadata = nullptr;
}

const WatchedJob* JobMirror::Find(const std::string& name) const {
  const auto found = jobs_.find(name);
  return found == jobs_.end() ? nullptr : &found->second.job;
}

}  // namespace penstock::net
