// Prepares a submitted job by tasks for workers.
#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "pipeline/plan/fitting_batch.h"
#include "pipeline/plan/job_dataset.h"
#include "pipeline/plan/job_order.h"
#include "pipeline/plan/job_slices.h"
#include "pipeline/plan/set_selections.h"
#include "pipeline/plan/steps.h"
#include "pipeline/sources/blend_start.h"
#include "pipeline/sources/snapshot_proto.h"
#include "server/coordinator/snapshot_pieces.h"
#include "server/coordinator/state/coordinator_state.h"
#include "server/coordinator/state/event_log.h"
#include "server/coordinator/state/files_changed.h"
#include "server/coordinator/state/indexed_shards.h"

namespace penstock::coordinator {
namespace {

constexpr uint64_t kMaxTasksOfWorker = 64;
constexpr size_t kMaxErrorBytes = 4096;
// Pause before a task that failed by memory shortages is tried again.
constexpr Nanos kShortagePause = 2 * kSecond;
constexpr size_t kShardFacts = 52;  // bytes of the numbers of records, content hash, data bytes and longest record

v1::Task NewTask(const v1::Job& job) {
  v1::Task task;
  task.set_job(job.name());
  task.set_job_uid(job.uid());
  return task;
}

// Calls fn(set, shards) with the shards of each data set, until it returns an error. `job` has the number of shards of
// each data set with a name.
template <typename Fn>
absl::Status ForEachSet(const v1::Job& job, std::vector<v1::Shard>& shards, const Fn& fn) {
  size_t first = 0;
  for (int set = 0; set < job.spec().dataset_size(); ++set) {
    const bool named = set < job.snapshot().set_shards_size();
    const size_t count = named ? job.snapshot().set_shards(set) : shards.size();
    PS_RETURN_IF_ERROR(fn(set, std::span(shards).subspan(first, count)));
    first += count;
  }
  return absl::OkStatus();
}

std::string Shortened(const std::string& text) {
  return text.size() <= kMaxErrorBytes ? text : absl::StrCat(text.substr(0, kMaxErrorBytes), "...");
}

}  // namespace

void CoordinatorState::StartPreparation(JobEntry* entry, Consequences* out) {
  board_.EraseJob(entry->job.uid());
  entry->ForgetFoundShards();
  entry->open_shards = 0;
  entry->shortage.clear();
  entry->digest.clear();
  entry->roots.clear();
  v1::Job& job = entry->job;
  job.set_state(v1::PREPARING);
  job.clear_error();
  job.clear_snapshot();
  entry->frozen = ShardList();
  entry->pieces.clear();
  job.clear_columns();
  job.clear_pipeline_fingerprint();
  job.clear_order_fingerprint();
  job.set_shards_indexed(0);
  job.set_shards_total(0);
  v1::Task task = NewTask(job);
  *task.mutable_prepare()->mutable_spec() = job.spec();
  board_.Add(std::move(task));
  out->wake_workers = true;
  job.set_waiting(WhatItWaitsFor(*entry));
  TouchJob(entry);
}

absl::StatusOr<v1::ReportTaskReply> CoordinatorState::ReportTask(Nanos now, const v1::ReportTaskRequest& request,
                                                                 Consequences* out) {
  v1::ReportTaskReply reply;
  BoardTask* task = board_.Find(request.task_id());
  const WorkerEntry* const worker = workers_.Find(request.worker_id());
  if (task == nullptr && !purges_.Report(now, request)) TakeChecks(now, request, out);
  // If the task is not there, another worker has done it or its job was removed. A failure counts only from the worker
  // that has the task. A result counts from any known worker: the conformance digest of an unknown one is unknown, so
  // its arithmetic may differ.
  if (task != nullptr && worker != nullptr && (request.code() == 0 || task->worker == request.worker_id())) {
    JobEntry& entry = *SubmissionOf(task->task);
    if (request.code() != 0) {
      TaskFailed(&entry, task, request, out);
    } else if (task->task.has_probe()) {
      BecomeReady(entry, request.worker_id(), out);
      return reply;  // the reply of that change replaces it
    } else {
      SetShortage(&entry, "");
      const BoardTask done = *task;
      board_.Erase(done.task.id());
      absl::Status status;
      if (done.task.has_prepare()) {
        entry.digest = worker->info.conformance_digest();
        status = Prepared(&entry, request, out);
      } else if (done.task.has_index()) {
        status = Indexed(&entry, done, request.shard(), out);
      } else {
        EndLook(&entry, FilesChanged(WholeJob(entry).snapshot(), request.files(), request.set_files()), "", out);
      }
      if (!status.ok()) FailJob(&entry, std::string(status.message()), out);
    }
  }
  if (worker != nullptr && worker->Beats()) HandOutTasks(now, request.worker_id(), &reply);
  return reply;
}

void CoordinatorState::TaskFailed(JobEntry* entry, BoardTask* task, const v1::ReportTaskRequest& report,
                                  Consequences* out) {
  std::string error = Shortened(report.message());
  if (error.empty()) error = absl::StatusCodeToString(static_cast<absl::StatusCode>(report.code()));
  if (!report.worker_at_fault()) return GiveUp(entry, task, error, out);
  task->tried.insert(report.worker_id());
  task->last_error = absl::StrCat("worker ", workers_.NameOf(report.worker_id()), ": ", error);
  if (report.shortage()) {
    task->shortage = true;
    SetShortage(entry, absl::StrCat(task->last_error, "; it is tried again, there and on other workers"));
  }
  board_.Release(task);
  out->wake_workers = true;
  CheckTasks(last_check_, out);
}

void CoordinatorState::SetShortage(JobEntry* entry, std::string text) {
  if (!entry->preparing() || entry->shortage == text) return;
  entry->shortage = std::move(text);
  entry->job.set_waiting(WhatItWaitsFor(*entry));
  TouchJob(entry);
}

// A job that cannot be prepared fails. A READY job stays READY, whatever the state of its files.
void CoordinatorState::GiveUp(JobEntry* entry, BoardTask* task, const std::string& error, Consequences* out) {
  if (!task->task.has_list()) return FailJob(entry, error, out);
  board_.Erase(task->task.id());
  EndLook(entry, "", error, out);
}

// Adds an index task for each file, now that the files of the job are known.
absl::Status CoordinatorState::Prepared(JobEntry* entry, const v1::ReportTaskRequest& report, Consequences* out) {
  if (report.files().empty()) {
    return absl::NotFoundError(
        absl::StrCat("no file matches ", absl::StrJoin(plan::DatasetOf(entry->job.spec()).files(), ", ")));
  }
  size_t bytes = 0;  // size of the future snapshot; kShardFacts covers what indexing adds
  for (const v1::Shard& file : report.files()) bytes += file.ByteSizeLong() + kShardFacts;
  if (bytes > options_.max_snapshot_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("the globs match ", report.files_size(), " files, whose list takes ",
                                                   bytes, " bytes; at most ", options_.max_snapshot_bytes,
                                                   " are possible: make fewer, larger shards"));
  }
  const size_t sets = plan::HasNamedSets(entry->job.spec()) ? static_cast<size_t>(entry->job.spec().dataset_size()) : 0;
  if (static_cast<size_t>(report.set_files_size()) != sets) {
    return absl::InternalError(absl::StrCat("worker ", workers_.NameOf(report.worker_id()), " reports the files of ",
                                            report.set_files_size(), " data sets, not ", sets, ": upgrade it"));
  }
  std::set<uint64_t> borders;  // first files of the data sets
  uint64_t in_sets = 0;
  for (const uint32_t files : report.set_files()) borders.insert(in_sets += files);
  if (sets > 0 && in_sets != static_cast<uint64_t>(report.files_size())) {
    return absl::InternalError(absl::StrCat("worker ", workers_.NameOf(report.worker_id()), " reports ",
                                            report.files_size(), " files, and ", in_sets, " in data sets"));
  }
  for (int i = 1; i < report.files_size(); ++i) {
    const v1::Shard &a = report.files(i - 1), &b = report.files(i);
    if (borders.contains(static_cast<uint64_t>(i))) continue;
    if (std::pair(a.root(), a.path()) >= std::pair(b.root(), b.path())) {
      return absl::InternalError(absl::StrCat("worker ", workers_.NameOf(report.worker_id()),
                                              " reports files out of order: ", FileName(a), " before ", FileName(b)));
    }
  }
  v1::Job& job = entry->job;
  entry->shards.assign(report.files().begin(), report.files().end());
  entry->indexed.assign(entry->shards.size(), false);
  entry->open_shards = entry->shards.size();
  *job.mutable_columns() = report.columns();
  *job.mutable_snapshot()->mutable_set_shards() = report.set_files();
  for (int set = 0; set < job.spec().dataset_size(); ++set) {
    const int steps = job.spec().dataset(set).select_size(), reported = plan::SelectionOf(report, set).steps_size();
    if (reported == steps) continue;
    return absl::InternalError(absl::StrCat("worker ", workers_.NameOf(report.worker_id()), " reports ", reported,
                                            " steps of dataset[", set, "].select, not ", steps, ": upgrade it"));
  }
  if (report.has_selection()) *job.mutable_snapshot()->mutable_selection() = report.selection();
  *job.mutable_snapshot()->mutable_set_selections() = report.set_selections();
  job.set_pipeline_fingerprint(report.pipeline_fingerprint());
  job.set_shards_total(static_cast<uint32_t>(entry->shards.size()));
  PS_RETURN_IF_ERROR(ForEachSet(job, entry->shards, [&](int set, std::span<v1::Shard> shards) {
    const v1::Dataset& dataset = job.spec().dataset(set);
    for (const v1::Shard& shard : shards) {
      entry->roots.insert(shard.root());
      v1::Task task = NewTask(job);
      v1::IndexShard* index = task.mutable_index();  // HandOutTasks adds the shard, because there may be many tasks
      index->set_compression(dataset.compression());
      index->set_source(dataset.source());
      if (dataset.has_window()) *index->mutable_window() = dataset.window();
      if (dataset.has_manifest()) *index->mutable_manifest() = dataset.manifest();
      index->set_max_record_bytes(job.spec().limits().max_record_bytes());
      if (!dataset.select().empty()) *index->mutable_selection() = plan::SelectionOf(report, set);
      board_.Add(std::move(task), static_cast<uint32_t>(&shard - entry->shards.data()));
    }
    return absl::OkStatus();
  }));
  out->wake_workers = true;
  TouchJob(entry);
  return absl::OkStatus();
}

absl::Status CoordinatorState::Indexed(JobEntry* entry, const BoardTask& task, const v1::Shard& shard,
                                       Consequences* out) {
  v1::Shard& known = entry->shards[task.shard];
  if (shard.root() != known.root() || shard.path() != known.path()) {
    return absl::InternalError(absl::StrCat("the index of ", FileName(known), " was returned for ", FileName(shard)));
  }
  if (shard.size() != known.size()) {
    return absl::FailedPreconditionError(
        absl::StrCat(FileName(known), " changed while it was being indexed: ", known.size(), " bytes before, ",
                     shard.size(), " now; submit again when no program writes to it"));
  }
  known = shard;
  if (plan::GroupingStepOf(plan::DatasetOf(entry->job.spec())) != nullptr) {
    PS_RETURN_IF_ERROR(entry->groups.Take(&known));
  } else if (known.has_groups()) {
    return absl::InternalError(absl::StrCat("a worker reports groups of ", FileName(known), ": upgrade it"));
  }
  entry->indexed[task.shard] = true;
  --entry->open_shards;
  entry->job.set_shards_indexed(static_cast<uint32_t>(entry->shards.size() - entry->open_shards));
  entry->progress_to_tell = true;  // the next tick notifies watchers, because shards may come by the thousands
  if (entry->open_shards > 0) return absl::OkStatus();
  return StartProbe(entry, out);
}

absl::Status CoordinatorState::StartProbe(JobEntry* entry, Consequences* out) {
  v1::Job& job = entry->job;
  PS_RETURN_IF_ERROR(
      ForEachSet(job, entry->shards, [](int, std::span<v1::Shard> shards) { return CheckRowTypes(shards); }));
  if (plan::SelectsRecords(job.spec())) {
    for (v1::Shard& shard : entry->shards) {
      if (shard.whole_records() == 0) shard.set_whole_records(shard.records());
    }
    PS_RETURN_IF_ERROR(ForEachSet(job, entry->shards, [&job](int set, std::span<v1::Shard> shards) {
      const v1::Dataset& dataset = job.spec().dataset(set);
      if (plan::CountsRecords(dataset)) Slice(dataset, shards);
      return CheckKeepsSome(job.spec(), set, shards);
    }));
  }
  if (const v1::Select* const step = plan::GroupingStepOf(plan::DatasetOf(job.spec()))) {
    const std::vector<std::string> names = entry->groups.Finish(*step, &entry->shards);
    job.mutable_snapshot()->mutable_groups()->Assign(names.begin(), names.end());
    uint64_t bytes = job.snapshot().ByteSizeLong();
    for (const v1::Shard& shard : entry->shards) bytes += shard.ByteSizeLong();
    if (bytes > options_.max_snapshot_bytes) {
      return absl::InvalidArgumentError(absl::StrCat("the groups of ", entry->shards.size(), " files take ", bytes,
                                                     " bytes; at most ", options_.max_snapshot_bytes,
                                                     " are possible: make fewer, larger shards"));
    }
  }
  entry->frozen = ShardList(entry->shards);
  entry->ForgetFoundShards();
  PS_RETURN_IF_ERROR(FillDerived(entry));
  const uint64_t positions = entry->epoch_rows;
  if (entry->weights->key_space() == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("there are no records in the ", entry->frozen.size(), " files of job ", job.name()));
  }
  // Readers may set another batch size, but a job is not READY if its own batch size does not fit.
  const absl::Status steps = plan::Steps::Create(positions, plan::StepSizesOf(job.spec().batch(), entry->batches),
                                                 plan::LastBatchOf(job.spec().batch().last()), 1)
                                 .status();
  if (!steps.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch: ", steps.message(), " (batch { size: ", plan::FittingBatch(positions), " } fits)"));
  }
  v1::Task task = NewTask(job);
  *task.mutable_probe()->mutable_job() = WholeJob(*entry);
  board_.Add(std::move(task));
  out->wake_workers = true;
  TouchJob(entry);
  return absl::OkStatus();
}

// Sets the fields that follow from spec and snapshot: fingerprints, and the weights for views.
absl::Status CoordinatorState::FillDerived(JobEntry* entry) const {
  v1::Job& job = entry->job;
  std::vector<uint64_t> records, bytes;
  std::vector<sources::SnapshotShard> shards;
  entry->frozen.ForEach([&](const v1::Shard& shard) {
    entry->roots.insert(shard.root());
    records.push_back(shard.records());
    bytes.push_back(shard.data_bytes());
    shards.push_back(sources::SnapshotShardOf(shard));
    return true;
  });
  const auto& set_shards = job.snapshot().set_shards();
  const auto& groups = job.snapshot().groups();
  PS_ASSIGN_OR_RETURN(const sources::Snapshot snapshot,
                      sources::Snapshot::Create(std::move(shards), {set_shards.begin(), set_shards.end()},
                                                {groups.begin(), groups.end()}));
  PS_ASSIGN_OR_RETURN(const auto order,
                      plan::DataOrderOf(job.spec(), records, snapshot.set_shards(), snapshot.Groups()));
  PS_RETURN_IF_ERROR(sources::CheckBlendStart(job.spec(), snapshot, *order));
  entry->epoch_rows = order->num_positions();
  entry->batches = order->batches();
  entry->blend = order->sets() > 1 ? order : nullptr;
  job.mutable_snapshot()->set_fingerprint(snapshot.Fingerprint());
  job.set_order_fingerprint(order->Fingerprint(snapshot.Fingerprint()));
  // A record that is read twice as often counts twice.
  for (size_t shard = 0; shard < bytes.size() && order->parts() > 1; ++shard) {
    bytes[shard] = static_cast<uint64_t>(order->PassesOfShard(shard) * static_cast<double>(bytes[shard]));
  }
  const bool by_ranks = job.spec().assignment().policy() == v1::BY_RANK;
  if (by_ranks && snapshot.total_records() > 0) {
    entry->weights = KeyWeights::Uniform(plan::kRankKeySpace);
  } else {
    entry->weights = KeyWeights::OfShards(records, bytes);
  }
  return absl::OkStatus();
}

// If that cannot be stored, the worker still has the task, and repeats it.
void CoordinatorState::BecomeReady(const JobEntry& entry, const std::string& worker, Consequences* out) {
  const std::string& name = entry.job.name();
  Change change;
  std::vector<std::string> pieces;
  for (SnapshotPiece& piece : CutIntoPieces(entry.frozen.wire())) {
    v1::StoredPiece* const put = change.facts.emplace_back().mutable_put_piece();
    put->set_name(piece.name);
    put->set_data(std::move(piece.data));
    pieces.push_back(std::move(piece.name));
  }
  if (entry.is_next) change.facts.emplace_back().set_delete_job(name);  // with its view and bad records
  v1::StoredJob* const fact = change.facts.emplace_back().mutable_put_job();
  *fact = ToStored(entry, entry.next.get());
  fact->mutable_job()->set_state(v1::READY);
  fact->mutable_pieces()->Add(pieces.begin(), pieces.end());
  change.end = [name, uid = entry.job.uid(), worker, pieces = std::move(pieces)](
                   CoordinatorState& state, Nanos now, const absl::Status& stored, Effects* effects,
                   Consequences* then) mutable {
    JobEntry* ready = state.FindSubmission(name, uid);
    if (!stored.ok()) {
      if (ready->job.waiting() != stored.message()) {
        ready->job.set_waiting(std::string(stored.message()));
        state.TouchJob(ready);
      }
      return;
    }
    state.board_.EraseJob(uid);
    if (ready->is_next) ready = state.TakeItsPlace(ready);
    ready->pieces = std::move(pieces);
    ready->job.set_state(v1::READY);
    ready->job.set_waiting(state.WhatItWaitsFor(*ready));
    state.TouchJob(ready);
    then->events.push_back(EventOf(v1::HistoryEvent::READY_TO_READ, name, "",
                                   absl::StrCat(ready->frozen.records(), " records in ", ready->frozen.size(),
                                                " shards, ", ready->frozen.data_bytes(), " bytes")));
    state.RefreshView(ready, then);
    v1::ReportTaskReply reply;
    const WorkerEntry* const prober = state.workers_.Find(worker);
    if (prober != nullptr && prober->Beats()) state.HandOutTasks(now, worker, &reply);
    effects->reply = std::move(reply);
  };
  BeginChange({name}, entry.is_next, std::move(change), out);
}

bool CoordinatorState::MayTake(const WorkerEntry& worker, const BoardTask& task) const {
  if (!worker.live() || !Understands(worker, SubmissionOf(task.task))) return false;
  if (!task.task.has_prepare() && !task.task.has_list()) return CanServe(worker, SubmissionOf(task.task));
  if (worker.info.conformance_digest() != workers_.CommonDigest()) return false;
  // Workers with the most data roots expand the globs.
  for (const auto& [id, other] : workers_.all()) {
    if (other.live() && Understands(other, SubmissionOf(task.task)) &&
        other.info.roots_size() > worker.info.roots_size() &&
        other.info.conformance_digest() == worker.info.conformance_digest() && !task.tried.contains(id)) {
      return false;
    }
  }
  return true;
}

template <typename TasksReply>
void CoordinatorState::HandOutTasks(Nanos now, const std::string& id, TasksReply* reply) {
  const WorkerEntry* worker = workers_.Find(id);
  if (worker->live()) {
    const uint64_t limit = std::clamp<uint64_t>(uint64_t{2} * worker->info.threads(), 4, kMaxTasksOfWorker);
    board_.HandOut(id, now, limit, [&](const BoardTask& task) { return MayTake(*worker, task); });
  }
  for (const BoardTask* task : board_.TasksOf(id)) {
    v1::Task* const out = reply->add_tasks();
    *out = task->task;
    if (out->has_index()) *out->mutable_index()->mutable_shard() = SubmissionOf(*out)->shards[task->shard];
  }
  AddChecks(id, reply->mutable_tasks());
  AddPurges(now, *worker, reply->mutable_tasks());
}

template void CoordinatorState::HandOutTasks(Nanos, const std::string&, v1::HeartbeatReply*);

// Ends work that cannot continue: tasks that take too long, tasks that no worker is left to try, and preparations whose
// workers have all left while others joined.
void CoordinatorState::CheckTasks(Nanos now, Consequences* out) {
  for (uint64_t id : board_.HandedOutBefore(now - options_.task_timeout)) {
    BoardTask* task = board_.Find(id);
    task->tried.insert(task->worker);
    task->last_error = absl::StrCat("worker ", workers_.NameOf(task->worker), " did not finish within ",
                                    options_.task_timeout / kSecond, " s");
    board_.Release(task);
    out->wake_workers = true;
  }
  for (uint64_t id : board_.WaitingRetries()) {
    BoardTask* task = board_.Find(id);
    if (task == nullptr) continue;  // its job failed with another of these tasks
    size_t able = 0, untried = 0;
    for (const auto& [worker_id, worker] : workers_.all()) {
      if (!MayTake(worker, *task)) continue;
      ++able;
      if (!task->tried.contains(worker_id)) ++untried;
    }
    const bool enough = task->tried.size() >= static_cast<size_t>(options_.max_task_attempts);
    const bool failed = enough || (able > 0 && untried == 0);
    // A shortage is temporary and does not fail the job.
    if (failed && task->shortage) {
      if (task->retry_at == 0) task->retry_at = now + kShortagePause;
      if (now < task->retry_at) continue;
      board_.Retry(task);
      out->wake_workers = true;
    } else if (failed) {
      std::string error = task->last_error;
      if (task->tried.size() > 1) {
        const auto name = [&](std::string* text, const std::string& worker) { text->append(workers_.NameOf(worker)); };
        absl::StrAppend(&error, " (tried on ", absl::StrJoin(task->tried, ", ", name), ")");
      }
      GiveUp(SubmissionOf(task->task), task, error, out);
    }
  }
  if (workers_.CountLive() == 0) return;
  ForEachSubmission([&](JobEntry* entry) {
    if (!entry->preparing() || entry->digest.empty() || IsChanging(entry->job.name())) return;
    const bool any = std::any_of(workers_.all().begin(), workers_.all().end(), [&](const auto& worker) {
      return worker.second.live() && worker.second.info.conformance_digest() == entry->digest;
    });
    if (!any) StartPreparation(entry, out);
  });
}

}  // namespace penstock::coordinator
