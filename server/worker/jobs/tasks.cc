#include "server/worker/jobs/tasks.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/fault.h"
#include "base/shortage.h"
#include "base/status_macros.h"
#include "base/status_place.h"
#include "config/job_file.h"
#include "pipeline/augment/check_pipeline.h"
#include "pipeline/augment/conformance.h"
#include "pipeline/augment/set_pipelines.h"
#include "pipeline/loader/check_keys.h"
#include "pipeline/loader/load_job.h"
#include "pipeline/loader/row_maker.h"
#include "pipeline/loader/row_request.h"
#include "pipeline/plan/job_dataset.h"
#include "pipeline/plan/job_order.h"
#include "pipeline/selection/job_selection.h"
#include "pipeline/sources/file_access.h"
#include "pipeline/sources/npy/npy_container.h"
#include "server/common/log_fields.h"
#include "server/worker/jobs/purge.h"

namespace penstock::worker {
namespace {

constexpr uint64_t kProbeRecords = 8;

void FillColumns(const batch::RowSchema& schema, v1::ReportTaskRequest* report) {
  for (const batch::ColumnSpec& column : schema.columns) {
    v1::Column* out = report->add_columns();
    out->set_name(column.name);
    out->set_dtype(static_cast<v1::DataType>(column.dtype));
    out->set_ragged(column.ragged);
    out->set_scalar(column.scalar);
    for (const int64_t extent : column.shape) out->add_shape(extent);
  }
}

// Returns all mistakes of the job that are visible without its data, one per line; empty if there are none.
std::vector<std::string> MistakesOf(const v1::JobSpec& spec) {
  std::vector<std::string> out;
  for (const config::Mistake& mistake : config::CheckJobSpec(spec)) {
    out.push_back(mistake.field.empty() ? mistake.message : absl::StrCat(mistake.field, ": ", mistake.message));
  }
  for (std::string& mistake : augment::CheckPipeline(spec)) out.push_back(std::move(mistake));
  return out;
}

// Adds the files to the report as the snapshot needs them, with their sizes.
absl::Status FillFiles(const std::vector<sources::DatasetFile>& files, const TaskTools& tools,
                       v1::ReportTaskRequest* report) {
  for (const sources::DatasetFile& file : files) {
    FileInfo info;
    if (file.info.has_value()) {
      info = *file.info;
    } else {
      PS_ASSIGN_OR_RETURN(storage::StoredName found, tools.storage->StatAndWait(file.path));
      info = std::move(found.info);
    }
    v1::Shard* shard = report->add_files();
    shard->set_root(file.root);
    shard->set_path(file.relative_path);
    shard->set_size(info.size);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<sources::DatasetFile>> FilesOf(const v1::Dataset& dataset, const TaskTools& tools) {
  return sources::ExpandGlobs(tools.storage, {dataset.files().begin(), dataset.files().end()}, tools.roots);
}

// Adds the number of a data set's files to the report if the job's data sets have names.
void AddSet(const v1::JobSpec& spec, size_t files, v1::ReportTaskRequest* report) {
  if (plan::HasNamedSets(spec)) report->add_set_files(static_cast<uint32_t>(files));
}

// No file at all is also an answer: all files are gone.
absl::Status List(const v1::ListFiles& task, const TaskTools& tools, v1::ReportTaskRequest* report) {
  for (const v1::Dataset& dataset : task.spec().dataset()) {
    absl::StatusOr<std::vector<sources::DatasetFile>> files = FilesOf(dataset, tools);
    if (absl::IsNotFound(files.status())) files = std::vector<sources::DatasetFile>();
    PS_RETURN_IF_ERROR(files.status());
    AddSet(task.spec(), files->size(), report);
    PS_RETURN_IF_ERROR(FillFiles(*files, tools, report));
  }
  return absl::OkStatus();
}

absl::Status Prepare(const v1::PrepareJob& task, const TaskTools& tools, v1::ReportTaskRequest* report) {
  const v1::JobSpec& spec = task.spec();
  std::vector<std::string> mistakes = MistakesOf(spec);
  std::vector<std::vector<sources::DatasetFile>> files(static_cast<size_t>(spec.dataset_size()));  // by data set
  for (int set = 0; set < spec.dataset_size(); ++set) {
    if (spec.dataset(set).files().empty()) continue;  // a mistake already
    absl::StatusOr<std::vector<sources::DatasetFile>> found = FilesOf(spec.dataset(set), tools);
    if (!found.ok()) {
      if (mistakes.empty()) return found.status();
      mistakes.push_back(absl::StrCat("dataset[", set, "].files: ", found.status().message()));
      continue;
    }
    AddSet(spec, found->size(), report);
    files[static_cast<size_t>(set)] = *std::move(found);
  }
  if (!mistakes.empty()) return absl::InvalidArgumentError(absl::StrJoin(mistakes, "\n"));
  PS_ASSIGN_OR_RETURN(const auto pipelines, augment::SetPipelines::Create(plan::JobsOfSets(spec)));
  PS_RETURN_IF_ERROR(loader::CheckFixedBytes(pipelines.schema().FixedBytes()));
  FillColumns(pipelines.schema(), report);
  report->set_pipeline_fingerprint(augment::JobPipelineFingerprint(pipelines));
  for (int set = 0; set < spec.dataset_size(); ++set) {
    std::vector<std::string> paths;
    for (const sources::DatasetFile& file : files[static_cast<size_t>(set)]) paths.push_back(file.path);
    PS_RETURN_IF_ERROR(FillFiles(files[static_cast<size_t>(set)], tools, report));
    if (!plan::SelectsRecords(spec)) continue;
    PS_ASSIGN_OR_RETURN(v1::Selection selection, selection::MakeSelection(tools.storage, spec, set, paths));
    *(spec.dataset_size() == 1 ? report->mutable_selection() : report->add_set_selections()) = std::move(selection);
  }
  return absl::OkStatus();
}

// Returns whether another worker may have an intact copy of the record.
bool IsFaultOfCopy(const absl::Status& status) {
  return FaultOf(status) == Fault::kWrongCrc || FaultOf(status) == Fault::kNoFile;
}

absl::Status Index(const std::string& job, const v1::IndexShard& task, const TaskTools& tools,
                   v1::ReportTaskRequest* report) {
  PS_ASSIGN_OR_RETURN(const std::string path,
                      sources::ResolveInRoots(tools.storage, task.shard().root(), task.shard().path(), tools.roots));
  PS_ASSIGN_OR_RETURN(
      sources::IndexOptions options,
      selection::WithSelection(sources::IndexOptionsOf(task.compression(), task.source(), task.max_record_bytes(),
                                                       task.window(), task.manifest()),
                               task.selection()));
  options.files = sources::AccessTo(tools.storage, tools.roots);
  const auto built = tools.indexes->Build(path, options);
  if (absl::IsDataLoss(built.status()) && !IsFaultOfCopy(built.status())) {
    return absl::DataLossError(absl::StrCat(built.status().message(),
                                            ". A job rejects a shard that cannot be read to its end, under any "
                                            "errors.policy. Write it again, or leave it out of dataset.files; "
                                            "`penstock verify` lists its readable records"));
  }
  PS_RETURN_IF_ERROR(built.status());
  const sources::LoadedIndex& loaded = *built;
  if (!loaded.left_out.empty()) server::LogWarn({.job = job}, "job '{}': {}", job, loaded.left_out);
  if (!loaded.save_status.ok()) {
    server::LogWarn({.job = job}, "the index of {} is not kept: {}", path, std::string(loaded.save_status.message()));
  }
  const sources::ShardIndex& index = *loaded.index;
  if (index.file_size != task.shard().size()) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": it has ", index.file_size, " bytes, and had ",
                                                      task.shard().size(),
                                                      " when the job was submitted; submit it again with --replace"));
  }
  v1::Shard* shard = report->mutable_shard();
  *shard = task.shard();
  shard->set_records(index.record_count());
  if (options.selection != nullptr) {
    shard->set_whole_records(index.shard_records());
    shard->set_left_out(index.left_out());
  }
  for (const std::string& name : index.group_names()) shard->mutable_groups()->add_names(name);
  for (const uint32_t records : index.group_records()) shard->mutable_groups()->add_records(records);
  shard->set_row_type(sources::RowTypeOf(index));
  if (index.packs().windows != nullptr) shard->set_longest_run(index.packs().windows->longest_run);
  shard->set_content_hash(index.content_hash);
  shard->set_data_bytes(index.data_bytes());
  shard->set_max_record_bytes(index.longest_record());
  shard->set_container(static_cast<v1::Container>(index.kind().container));  // the numbers are equal
  const absl::Status put = tools.link->PutIndex(index.content_hash, index.Serialize());
  // Otherwise other workers index the shard themselves.
  if (!put.ok()) {
    server::LogWarn({.job = job}, "the index of {} did not reach the coordinator: {}", path,
                    std::string(put.message()));
  }
  return absl::OkStatus();
}

// Makes the row of a record and discards it. Errors name file, record, and feature or op.
absl::Status MakeRowOf(const loader::LoadJob& load, uint64_t record_number) {
  std::string record;
  PS_RETURN_IF_ERROR(load.reader().ReadRecord(record_number, &record));
  const batch::RowSchema& schema = load.schema();
  std::vector<std::byte> bytes(schema.FixedBytes());
  batch::RowSlot slot;
  slot.ragged.resize(schema.columns.size());
  size_t offset = 0;
  for (const batch::ColumnSpec& column : schema.columns) {
    slot.fixed.push_back(column.ragged ? nullptr : bytes.data() + offset);
    if (!column.ragged) offset += column.Bytes();
  }
  augment::RowScratch scratch;
  const SampleKey key{.seed = load.spec().order().seed(), .epoch = 0, .repeat = 0, .record_id = record_number};
  const absl::Status made = load.PipelineOf(record_number).MakeRow(record, key, &slot, &scratch);
  if (made.ok()) return made;
  return absl::Status(made.code(), absl::StrCat(load.reader().Describe(record_number), ": ", made.message()));
}

// Makes the first row of a data set. A policy covers a few bad records: it is then enough that one of the first makes a
// row. If the records are in groups, which may have no rows, takes rows of the first epoch.
absl::Status ProbeSet(const loader::LoadJob& load, uint32_t set) {
  const uint64_t tries = load.spec().errors().policy() == v1::FAIL ? 1 : kProbeRecords;
  const plan::DataOrder& order = load.order();
  const uint64_t count = std::min(tries, order.records(set));
  absl::Status first_error;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t record = order.groups() == nullptr ? order.first_record(set) + i
                                                      : order.Epoch(0).RecordAt(i * (order.num_positions() / count));
    const absl::Status made = MakeRowOf(load, record);
    if (made.ok()) return made;
    if (first_error.ok()) first_error = made;
    if (!absl::IsInvalidArgument(made) && !absl::IsDataLoss(made)) break;
  }
  if (tries == 1 && absl::IsDataLoss(first_error)) {
    return WithFault(
        FaultOf(first_error),
        absl::DataLossError(absl::StrCat(
            first_error.message(), "; with errors { policy: MASK } or SUBSTITUTE the job continues past bad records")));
  }
  return first_error;
}

// Checks the keys of the first records and makes the first row of each data set. A missing feature, or one of another
// type, then fails the submission and not a trainer.
absl::Status Probe(const v1::ProbeJob& task, const TaskTools& tools) {
  const v1::Job& job = task.job();
  loader::DatasetReader::Options options;
  options.executor = tools.slow_work;
  PS_ASSIGN_OR_RETURN(loader::IndexProvider indexes, tools.indexes->ProviderFor(job, tools.roots));
  PS_ASSIGN_OR_RETURN(const std::shared_ptr<const loader::LoadJob> load,
                      BuildLoadJob(tools.storage, job, tools.roots, std::move(indexes), options));
  if (load->reader().snapshot().total_records() == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("the ", job.snapshot().shards_size(), " files of the data set hold no record"));
  }
  // Check keys before making a row: a misspelled key is the same mistake, whatever the column's shape and the policy.
  if (!job.allow_missing()) PS_RETURN_IF_ERROR(loader::CheckKeys(job.spec(), &load->reader()));
  for (uint32_t set = 0; set < load->order().sets(); ++set) PS_RETURN_IF_ERROR(ProbeSet(*load, set));
  return absl::OkStatus();
}

// Returns the state of this worker's copy of the record.
v1::RecordCheck CheckCopy(const loader::LoadJob& load, uint64_t record, const TaskTools& tools) {
  v1::RecordCheck check;
  check.set_record(record);
  std::string bytes;
  const absl::Status read = load.reader().ReadRecord(record, &bytes);
  if (read.ok()) {
    check.set_copy(v1::RecordCheck::INTACT);
  } else if (absl::IsDataLoss(read)) {
    check.set_copy(v1::RecordCheck::DAMAGED);
    if (const Fault fault = FaultOf(read); fault != Fault::kOther) check.set_reason(std::string(FaultName(fault)));
    check.set_message(std::string(WithoutPlace(read).message()));
    if (const auto offset = load.reader().OffsetOf(record); offset.has_value()) check.set_offset(*offset);
    if (load.reader().selects()) {
      if (const auto number = load.reader().NumberInShard(record); number.ok()) check.set_number_in_shard(*number);
    }
  } else {
    const sources::SnapshotShard& shard =
        load.reader().snapshot().shards()[load.reader().snapshot().ToShard(record).shard];
    const absl::StatusOr<std::string> path =
        sources::ResolveInRoots(tools.storage, shard.root, shard.relative_path, tools.roots);
    const absl::Status found = path.ok() ? tools.storage->StatAndWait(*path).status() : path.status();
    // A file with other content is not a copy of the snapshot's file.
    const bool none = absl::IsNotFound(found) || absl::IsPermissionDenied(found) || absl::IsFailedPrecondition(read);
    check.set_copy(none ? v1::RecordCheck::NO_FILE : v1::RecordCheck::UNREADABLE);
    check.set_message(std::string(read.message()));
  }
  return check;
}

absl::Status CheckCopies(const v1::Task& task, const TaskTools& tools, v1::ReportTaskRequest* report) {
  PS_ASSIGN_OR_RETURN(const std::shared_ptr<const loader::LoadJob> load, tools.jobs->Find(task.job(), task.job_uid()));
  const uint64_t records = load->reader().snapshot().total_records();
  for (const uint64_t record : task.check().records()) {
    if (record < records) *report->add_checks() = CheckCopy(*load, record, tools);
  }
  return absl::OkStatus();
}

absl::Status Run(const v1::Task& task, const TaskTools& tools, v1::ReportTaskRequest* report) {
  switch (task.task_case()) {
    case v1::Task::kPrepare:
      return Prepare(task.prepare(), tools, report);
    case v1::Task::kIndex:
      return Index(task.job(), task.index(), tools, report);
    case v1::Task::kProbe:
      return Probe(task.probe(), tools);
    case v1::Task::kList:
      return List(task.list(), tools, report);
    case v1::Task::kCheck:
      return CheckCopies(task, tools, report);
    case v1::Task::kPurge:
      return Purge(task, tools, report->mutable_purged());
    default:
      return absl::UnimplementedError("a task that this worker's version does not know");
  }
}

// Returns whether another worker may succeed: this machine could not read, or does not have, the job's data.
bool AtFault(const v1::Task& task, const absl::Status& status) {
  if (absl::IsUnavailable(status) || absl::IsCancelled(status) || absl::IsInternal(status) || absl::IsUnknown(status))
    return true;
  // Another worker may have an intact copy of the record.
  if (absl::IsDataLoss(status) && IsFaultOfCopy(status) && !task.has_prepare()) return true;
  // The worker that expanded the globs saw the files.
  return !task.has_prepare() && !task.has_list() && (absl::IsNotFound(status) || absl::IsPermissionDenied(status));
}

}  // namespace

v1::ReportTaskRequest RunTask(const v1::Task& task, const std::string& worker_id, const TaskTools& tools) {
  v1::ReportTaskRequest report;
  absl::Status status;
  try {
    status = Run(task, tools, &report);
  } catch (const std::bad_alloc&) {
    status = ShortageError("the worker has no memory for this task (RLIMIT_AS, RLIMIT_DATA, or the machine's memory)");
  }
  if (!status.ok()) {
    server::LogWarn({.job = task.job()}, "job '{}': task {} failed: {}", task.job(), task.id(),
                    status.ToString(absl::StatusToStringMode::kWithNoExtraData));
    v1::PurgedBytes purged = report.purged();  // counts although the task failed
    report = v1::ReportTaskRequest();
    if (task.has_purge()) *report.mutable_purged() = std::move(purged);
    report.set_code(static_cast<int32_t>(status.code()));
    report.set_message(std::string(status.message()));
    report.set_worker_at_fault(AtFault(task, status));
    report.set_shortage(IsShortage(status));
  }
  report.set_worker_id(worker_id);
  report.set_task_id(task.id());
  return report;
}

}  // namespace penstock::worker
