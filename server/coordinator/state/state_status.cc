// Builds the status for the admin command.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/url.h"
#include "base/version.h"
#include "net/job_mirror.h"
#include "net/protocols_proto.h"
#include "net/session_label.h"
#include "server/coordinator/state/coordinator_state.h"

namespace penstock::coordinator {
namespace {

// Steps. Alerts have the same limit (PenstockRankLags in deploy/monitoring/alerts.yml).
constexpr uint64_t kNotableLag = 20;

struct Owned {
  uint64_t records = 0;
  double bytes = 0;
};

void AddOwned(const JobEntry& entry, uint64_t records, uint64_t bytes, std::map<std::string, Owned>* owned) {
  const plan::View& view = *entry.view;
  for (const plan::ViewRange& range : view.ranges) {
    Owned& mine = (*owned)[view.workers[range.owner].id];
    if (view.policy == plan::AssignPolicy::kByRecord) {
      mine.records += range.end - range.begin;
      mine.bytes += entry.weights->Between(range.begin, range.end);
    } else {
      const double share = static_cast<double>(range.end - range.begin) / plan::kRankKeySpace;
      mine.records += static_cast<uint64_t>(share * static_cast<double>(records));
      mine.bytes += share * static_cast<double>(bytes);
    }
  }
}

uint64_t Milliseconds(Nanos duration) { return static_cast<uint64_t>(std::max<Nanos>(duration, 0) / kMillisecond); }

}  // namespace

void CoordinatorState::AddStatus(const JobEntry& entry, Nanos now, size_t most_datasets,
                                 v1::StatusReply::JobStatus* status) const {
  const v1::Job& job = entry.job;
  status->set_name(job.name());
  status->set_state(job.state());
  status->set_error(job.error());
  const std::string paused = net::PausedText(job.name(), job.paused_by());
  status->set_waiting(paused.empty() ? job.waiting() : paused);
  status->set_owner(job.owner());
  status->set_paused_by(job.paused_by());
  if (entry.ready() && entry.read_at > 0) status->set_idle_seconds(Milliseconds(now - entry.read_at) / 1000);
  if (entry.next != nullptr) *status->mutable_next() = net::RecordOf(entry.next->job, 0);
  const uint64_t records = entry.frozen.records(), bytes = entry.frozen.data_bytes();
  status->set_records(records);
  status->set_whole_records(entry.frozen.whole_records());
  status->set_left_out(entry.frozen.left_out());
  status->set_bytes(bytes);
  status->set_shards(job.shards_total());
  status->set_shards_indexed(job.shards_indexed());
  status->set_view_number(job.view().number());
  status->set_batch_size(job.spec().batch().size());
  status->set_policy(job.spec().assignment().policy());
  status->set_bad_records(entry.quarantine.size());
  for (v1::ReasonCount& count : entry.quarantine.Reasons()) *status->add_bad_reasons() = std::move(count);
  const std::vector<const SessionEntry*> sessions = sessions_.OfJob(job.name());
  if (entry.ready() && entry.blend != nullptr) {
    AddDatasets(*entry.blend, PassedByARun(sessions), most_datasets, status);
  }
  const std::vector<uint64_t> behind = StepsBehind(entry, sessions);
  for (size_t i = 0; i < sessions.size(); ++i) {
    const SessionEntry* const session = sessions[i];
    v1::StatusReply::SessionStatus* out = status->add_sessions();
    out->set_id(net::SessionLabel(session->id));
    out->set_rank(session->open.rank());
    out->set_world_size(session->open.world_size());
    out->set_epoch(session->last.epoch());
    out->set_position(session->last.position());
    out->set_epoch_positions(entry.epoch_rows);
    out->set_rows_per_second(session->last.rows_per_second());
    out->set_wait_fraction(session->last.wait_fraction());
    out->set_seconds_since_report(Milliseconds(now - session->last_report) / 1000);
    out->set_host(session->open.host());
    out->set_rows(session->last.rows());
    out->set_waiting_for(session->last.waiting_for());
    out->set_note(sessions_.NoteOf(*session, now));
    if (out->note().empty() && behind[i] > kNotableLag) {
      out->set_note(absl::StrCat("it lags the first rank of its run by ", behind[i], " steps"));
    }
    out->set_carriers(session->last.carriers());
    if (status->waiting().empty() && !out->waiting_for().empty()) {
      status->set_waiting(absl::StrCat("rank ", out->rank(), " of ", out->world_size(), ": ", out->waiting_for()));
    }
  }
}

void CoordinatorState::AddCoordinator(Nanos now, v1::StatusReply* reply) const {
  reply->set_uptime_seconds(static_cast<uint64_t>((now - started_) / kSecond));
  reply->set_term(term_);
  reply->set_version(std::string(Version()));
  *reply->mutable_protocols() = net::ToProto(kProtocols);
}

absl::StatusOr<v1::StatusReply> CoordinatorState::StatusOf(const std::string& job, Nanos now,
                                                           const transport::Peer& caller) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return NoSuchJob(job, caller);
  v1::StatusReply reply;
  AddCoordinator(now, &reply);
  AddStatus(found->second, now, kAllDatasets, reply.add_jobs());
  return reply;
}

v1::StatusReply CoordinatorState::Status(Nanos now, size_t most_datasets) const {
  v1::StatusReply reply;
  AddCoordinator(now, &reply);
  std::map<std::string, Owned> owned;
  for (const auto& [name, entry] : jobs_) {
    AddStatus(entry, now, most_datasets, reply.add_jobs());
    if (entry.ready() && entry.view) AddOwned(entry, entry.frozen.records(), entry.frozen.data_bytes(), &owned);
  }
  const std::string common = workers_.CommonDigest();
  for (const auto& [id, worker] : workers_.all()) {
    v1::WorkerStatus* status = reply.add_workers();
    status->set_id(id);
    status->set_address(worker.info.address());
    status->set_state(worker.state);
    *status->mutable_load() = worker.load;
    status->mutable_load()->clear_jobs();
    status->set_owned_records(owned[id].records);
    status->set_owned_bytes(static_cast<uint64_t>(owned[id].bytes));
    status->set_milliseconds_since_heartbeat(Milliseconds(now - worker.last_beat));
    *status->mutable_rejected() = worker.rejected;
    *status->mutable_findings() = worker.findings;
    status->set_clock_ahead_ms(worker.clock_ahead_ms);
    status->set_tls_name(worker.info.tls_name());
    status->set_local(worker.info.local());
    status->set_host(worker.info.host());
    status->set_threads(worker.info.threads());
    status->set_memory_budget_bytes(worker.info.memory_budget_bytes());
    status->set_memory_budget_source(worker.info.memory_budget_source());
    status->set_version(worker.info.version());
    *status->mutable_protocols() = worker.info.protocols();
    status->set_name(worker.name);
    status->set_note(workers_.WhyLost(now, worker));
    if (worker.live() && worker.info.conformance_digest() != common) {
      status->set_note(absl::StrCat("its arithmetic gives other bits than most workers' (conformance digest ",
                                    worker.info.conformance_digest(), ", theirs ", common,
                                    "): it gets no part of the jobs that they prepared"));
    }
  }
  return reply;
}

absl::StatusOr<v1::ListShardsReply> CoordinatorState::ListShards(const v1::ListShardsRequest& request) const {
  auto found = jobs_.find(request.job());
  if (found == jobs_.end()) return NoSuchJob(request.job(), {});
  const JobEntry& entry = found->second;
  v1::ListShardsReply reply;
  for (size_t i = 0; i < entry.shards.size(); ++i) {
    v1::ListShardsReply::ShardStatus* status = reply.add_shards();
    *status->mutable_shard() = entry.shards[i];
    status->set_indexed(entry.indexed[i]);
  }
  uint64_t begin = 0;
  entry.frozen.ForEach([&](const v1::Shard& shard) {
    v1::ListShardsReply::ShardStatus* status = reply.add_shards();
    *status->mutable_shard() = shard;
    status->set_indexed(true);
    const uint64_t end = begin + shard.records();
    if (entry.view && entry.view->policy == plan::AssignPolicy::kByRecord && begin < end) {
      for (uint32_t r = entry.view->RangeOf(begin); r < entry.view->ranges.size() && entry.view->ranges[r].begin < end;
           ++r) {
        const std::string& owner = entry.view->workers[entry.view->ranges[r].owner].id;
        if (status->owners().empty() || *status->owners().rbegin() != owner) {
          status->add_owners(owner);
        }
      }
    }
    begin = end;
    return true;
  });
  return reply;
}

absl::StatusOr<v1::DescribeReply> CoordinatorState::Describe(const v1::DescribeRequest& request,
                                                             const transport::Peer& caller, Nanos now) const {
  v1::DescribeReply reply;
  if (const auto found = jobs_.find(request.name()); found != jobs_.end()) {
    PS_RETURN_IF_ERROR(caller.MayAccess(request.name()));
    const v1::Job& job = found->second.job;
    AddStatus(found->second, now, kAllDatasets, reply.mutable_job());
    *reply.mutable_spec() = job.spec();
    for (v1::Dataset& dataset : *reply.mutable_spec()->mutable_dataset()) {
      for (std::string& glob : *dataset.mutable_files()) glob = GlobForShow(glob);
    }
    *reply.mutable_view() = job.view();
    *reply.mutable_columns() = job.columns();
    reply.set_order_fingerprint(job.order_fingerprint());
    reply.set_pipeline_fingerprint(job.pipeline_fingerprint());
    v1::QuarantineRequest bad;
    bad.set_job(request.name());
    PS_ASSIGN_OR_RETURN(*reply.mutable_quarantine(), GetQuarantine(bad));
    AddEvents(request.name(), "", caller, &reply);
    return reply;
  }
  PS_ASSIGN_OR_RETURN(const WorkerEntry* const worker, FindWorkerCalled(request.name(), caller));
  const std::string& id = worker->info.id();
  v1::StatusReply status = Status(now);
  for (v1::WorkerStatus& entry : *status.mutable_workers()) {
    if (entry.id() == id) *reply.mutable_worker() = std::move(entry);
  }
  if (!caller.jobs.empty()) reply.mutable_worker()->clear_rejected();
  *reply.mutable_registration() = worker->info;
  for (const auto& [name, entry] : jobs_) {
    if (!entry.ready() || !entry.view || !caller.MayAccess(name).ok()) continue;
    std::map<std::string, Owned> owned;
    AddOwned(entry, entry.frozen.records(), entry.frozen.data_bytes(), &owned);
    const auto mine = owned.find(id);
    if (mine == owned.end()) continue;
    v1::DescribeReply::Part* const part = reply.add_parts();
    part->set_job(name);
    part->set_records(mine->second.records);
    part->set_bytes(static_cast<uint64_t>(mine->second.bytes));
  }
  AddEvents("", id, caller, &reply);
  return reply;
}

}  // namespace penstock::coordinator
