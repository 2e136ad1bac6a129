#include "server/coordinator/state/purge_desk.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock::coordinator {
namespace {

void AddBytes(const v1::PurgedBytes& more, v1::PurgedBytes* sum) {
  sum->set_indexes(sum->indexes() + more.indexes());
  sum->set_memory(sum->memory() + more.memory());
  sum->set_disk(sum->disk() + more.disk());
}

}  // namespace

absl::Status PurgeDesk::CheckRoom(Nanos now) {
  std::erase_if(purges_, [now](const auto& entry) { return now > entry.second.followed + kFollowed; });
  if (purges_.size() < kMostRunning) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(kMostRunning, " purges run; try again in a minute"));
}

void PurgeDesk::Start(Nanos now, const std::string& job, uint64_t job_uid, PurgePlan plan) {
  if (purges_.contains(job_uid)) return;
  Purge& purge = purges_[job_uid];
  purge.job = job;
  purge.plan = std::move(plan);
  purge.followed = now;
}

void PurgeDesk::Retry(uint64_t job_uid) {
  const auto found = purges_.find(job_uid);
  if (found == purges_.end()) return;
  const auto retry = [](Part* part) {
    if (part->state == v1::PurgePart::FAILED) part->state = v1::PurgePart::WAITING;
  };
  retry(&found->second.own);
  for (auto& [id, part] : found->second.workers) retry(&part);
}

v1::Task PurgeDesk::TaskOf(uint64_t job_uid, const Purge& purge, const Part& part) {
  v1::Task task;
  task.set_id(part.task);
  task.set_job(purge.job);
  task.set_job_uid(job_uid);
  v1::PurgeJob* const work = task.mutable_purge();
  const size_t end = std::min(purge.plan.shards.size(), part.next_shard + kShardsOfTask);
  for (size_t i = part.next_shard; i < end; ++i) *work->add_shards() = purge.plan.shards[i];
  if (part.next_shard > 0 || purge.plan.data_set == 0) return task;
  work->set_data_set(purge.plan.data_set);
  *work->mutable_spec() = purge.plan.spec;
  work->set_container(purge.plan.containers[0]);
  for (size_t i = 1; i < purge.plan.containers.size(); ++i) work->add_more_containers(purge.plan.containers[i]);
  return task;
}

void PurgeDesk::AddTasks(Nanos now, const std::string& worker,
                         absl::FunctionRef<bool(const std::string& job, uint64_t job_uid)> exists,
                         absl::FunctionRef<uint64_t()> new_id, google::protobuf::RepeatedPtrField<v1::Task>* tasks) {
  std::erase_if(purges_, [&](const auto& entry) {
    return now > entry.second.followed + kFollowed || !exists(entry.second.job, entry.first);
  });
  for (auto& [uid, purge] : purges_) {
    Part& part = purge.workers[worker];
    if (part.state != v1::PurgePart::WAITING || now < part.retry_at) continue;
    if (part.task == 0) part.task = new_id();
    *tasks->Add() = TaskOf(uid, purge, part);
  }
}

bool PurgeDesk::Report(Nanos now, const v1::ReportTaskRequest& report) {
  for (auto& [uid, purge] : purges_) {
    const auto found = purge.workers.find(report.worker_id());
    if (found == purge.workers.end() || found->second.task != report.task_id()) continue;
    Part& part = found->second;
    part.task = 0;
    AddBytes(report.purged(), &part.freed);
    part.message = report.message();
    if (report.code() == static_cast<int>(absl::StatusCode::kOk)) {
      part.next_shard = std::min(purge.plan.shards.size(), part.next_shard + kShardsOfTask);
      if (part.next_shard == purge.plan.shards.size()) part.state = v1::PurgePart::DONE;
    } else if (report.code() == static_cast<int>(absl::StatusCode::kUnavailable)) {
      part.retry_at = now + kRetryPause;
    } else {
      part.state = v1::PurgePart::FAILED;
    }
    return true;
  }
  return false;
}

void PurgeDesk::ReportOwn(uint64_t job_uid, const absl::Status& status, uint64_t bytes) {
  const auto found = purges_.find(job_uid);
  if (found == purges_.end()) return;
  Part& own = found->second.own;
  own.freed.set_indexes(own.freed.indexes() + bytes);
  own.state = status.ok() ? v1::PurgePart::DONE : v1::PurgePart::FAILED;
  own.message = std::string(status.message());
}

v1::PurgeReply PurgeDesk::Describe(Nanos now, uint64_t job_uid, const std::vector<PurgeWorker>& workers) {
  Purge& purge = purges_.at(job_uid);
  purge.followed = now;
  v1::PurgeReply reply;
  reply.set_job_uid(job_uid);
  reply.set_shards(purge.plan.all_shards);
  reply.set_kept_shards(purge.plan.all_shards - static_cast<uint32_t>(purge.plan.shards.size()));
  reply.set_kept_records(purge.plan.kept_records);
  const auto add = [&reply](const std::string& name, const Part& part) {
    v1::PurgePart* const out = reply.add_parts();
    out->set_name(name);
    out->set_state(part.state);
    out->set_message(part.message);
    *out->mutable_freed() = part.freed;
  };
  add("coordinator", purge.own);
  for (const PurgeWorker& worker : workers) {
    Part part = purge.workers[worker.id];
    if (part.state == v1::PurgePart::WAITING && !worker.lost.empty()) {
      part.state = v1::PurgePart::FAILED;
      part.message = worker.lost;
    }
    add(worker.name, part);
  }
  return reply;
}

const std::vector<uint64_t>* PurgeDesk::OwnWork(uint64_t job_uid) const {
  const auto found = purges_.find(job_uid);
  if (found == purges_.end() || found->second.own.state != v1::PurgePart::WAITING) return nullptr;
  return &found->second.plan.blobs;
}

}  // namespace penstock::coordinator
