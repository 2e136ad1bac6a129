#include "pipeline/loader/open_dataset.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/cgroup.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "pipeline/loader/data_format.h"
#include "pipeline/plan/job_dataset.h"
#include "pipeline/plan/job_order.h"
#include "pipeline/plan/job_slices.h"
#include "pipeline/plan/record_groups.h"
#include "pipeline/plan/value_bins.h"
#include "pipeline/selection/job_selection.h"
#include "pipeline/sources/file_access.h"
#include "pipeline/sources/index_builder.h"
#include "pipeline/sources/index_job.h"
#include "pipeline/sources/index_store.h"
#include "pipeline/sources/npy/npy_container.h"

namespace penstock::loader {
namespace {

// A data set of the job.
struct OpenedSet {
  std::vector<sources::DatasetFile> files;
  sources::IndexOptions options;
};

absl::StatusOr<OpenedSet> OpenSet(storage::Storage* storage, const v1::JobSpec& job, int set,
                                  const std::vector<sources::DataRoot>& roots) {
  OpenedSet opened;
  const auto& globs = job.dataset(set).files();
  PS_ASSIGN_OR_RETURN(opened.files, sources::ExpandGlobs(storage, {globs.begin(), globs.end()}, roots));
  std::vector<std::string> paths;
  for (const sources::DatasetFile& file : opened.files) paths.push_back(file.path);
  PS_ASSIGN_OR_RETURN(const v1::Selection selection, selection::MakeSelection(storage, job, set, paths));
  PS_ASSIGN_OR_RETURN(opened.options, selection::WithSelection(sources::IndexOptionsOf(job, set), selection));
  opened.options.files = sources::AccessTo(storage, roots);
  return opened;
}

// Returns the indexes of all files of the data sets, in order.
absl::StatusOr<std::vector<std::shared_ptr<const sources::ShardIndex>>> BuildAll(
    storage::Storage* storage, const std::vector<OpenedSet>& sets, const std::optional<sources::IndexStore>& indexes,
    int threads, const std::function<void(const std::string&)>& warn) {
  std::vector<std::string> paths;
  std::vector<const sources::IndexOptions*> options;
  for (const OpenedSet& set : sets) {
    for (const sources::DatasetFile& file : set.files) {
      paths.push_back(file.path);
      options.push_back(&set.options);
    }
  }
  std::vector<absl::StatusOr<sources::LoadedIndex>> loaded;
  if (indexes.has_value()) {
    loaded = sources::BuildIndexes(*indexes, paths, options, threads > 0 ? threads : AvailableCpus());
    const std::string unsaved = sources::UnsavedText(loaded);
    if (warn && !unsaved.empty()) warn(unsaved);
  } else {
    for (size_t i = 0; i < paths.size() && (i == 0 || loaded.back().ok()); ++i) {
      loaded.push_back(sources::BuildIndexOf(storage, paths[i], *options[i]));
    }
  }
  std::vector<std::shared_ptr<const sources::ShardIndex>> built;
  uint64_t left_out = 0, of_files = 0;  // bad records that earlier runs have named
  for (const absl::StatusOr<sources::LoadedIndex>& each : loaded) {
    if (!each.ok()) return each.status();
    if (warn && !each->left_out.empty()) warn(each->left_out);
    if (each->left_out.empty() && each->index->left_out() > 0) {
      left_out += each->index->left_out();
      ++of_files;
    }
    built.push_back(each->index);
  }
  if (warn && left_out > 0) {
    warn(absl::StrCat("bad records are left out of the selection: ", left_out, " in ", of_files,
                      of_files == 1 ? " file" : " files", "; `penstock select` shows them"));
  }
  return built;
}

// Returns the shards of data set `set`, whose indexes are `built`.
absl::StatusOr<std::vector<sources::SnapshotShard>> ShardsOf(
    const v1::JobSpec& job, int set, const std::vector<sources::DatasetFile>& files,
    std::span<const std::shared_ptr<const sources::ShardIndex>> built) {
  std::vector<sources::SnapshotShard> shards;
  std::vector<uint64_t> counts;
  uint64_t whole = 0, kept = 0;  // records
  uint64_t longest_run = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    const sources::ShardIndex& index = *built[i];
    sources::SnapshotShard& shard = shards.emplace_back();
    shard.root = files[i].root;
    shard.relative_path = files[i].relative_path;
    shard.size = index.file_size;
    shard.record_count = index.record_count();
    shard.content_hash = index.content_hash;
    shard.data_bytes = index.data_bytes();
    shard.container = index.kind().container;
    counts.push_back(shard.record_count);
    whole += index.shard_records();
    if (index.packs().windows != nullptr) longest_run = std::max(longest_run, index.packs().windows->longest_run);
  }
  size_t first = files.size();  // the first array with rows
  for (size_t i = 0; i < files.size(); ++i) {
    if (sources::RowTypeOf(*built[i]) == 0) continue;
    first = std::min(first, i);
    if (sources::RowTypeOf(*built[i]) == sources::RowTypeOf(*built[first])) continue;
    return sources::RowsDiffer(files[first].path, files[i].path);
  }
  const std::vector<plan::RecordRun> runs = plan::KeptRuns(job.dataset(set), counts);
  for (size_t i = 0; i < shards.size(); ++i) {
    shards[i].Slice(runs[i].first, runs[i].stride, runs[i].count);
    kept += runs[i].count;
  }
  if (kept == 0 && !job.dataset(set).select().empty()) {
    return selection::NothingSelected(set, whole, files.size(), plan::NoWindowReason(job.dataset(set), longest_run));
  }
  return shards;
}

// Sets the groups that `step` makes of the shards, whose indexes are `built`, and returns the names of all groups.
// Returns the errors of plan::CheckLimits(), as the coordinator does.
absl::StatusOr<std::vector<std::string>> SetGroups(const v1::Select& step,
                                                   std::span<const std::shared_ptr<const sources::ShardIndex>> built,
                                                   std::vector<sources::SnapshotShard>* shards) {
  size_t pairs = 0;
  std::set<std::string> sorted;
  for (const auto& index : built) sorted.insert(index->group_names().begin(), index->group_names().end());
  const std::vector<std::string> names(sorted.begin(), sorted.end());
  for (size_t i = 0; i < built.size(); ++i) {
    plan::ShardGroups& groups = (*shards)[i].groups;
    for (const std::string& name : built[i]->group_names()) groups.groups.push_back(plan::NumberOf(name, names));
    groups.records.assign(built[i]->group_records().begin(), built[i]->group_records().end());
    pairs += groups.groups.size();
  }
  PS_RETURN_IF_ERROR(plan::CheckLimits(names.size(), pairs));
  if (!plan::MakesBins(step)) return names;
  std::vector<uint64_t> records(names.size(), 0);
  for (const sources::SnapshotShard& shard : *shards) plan::AddRecords(shard.groups, &records);
  const plan::ValueBins bins = plan::MakeBins(names, records, plan::BinRuleOf(step));
  for (sources::SnapshotShard& shard : *shards) plan::MergeIntoBins(bins, &shard.groups);
  return bins.names;
}

using SetPath = std::pair<uint32_t, std::string>;  // a data set, and the path of one of its files

// Returns the provider of the indexes `known`. It indexes a file again that has changed since.
IndexProvider ProviderOf(storage::Storage* storage, std::vector<sources::IndexOptions> options,
                         std::map<SetPath, std::shared_ptr<const sources::ShardIndex>> known) {
  struct Known {
    Mutex mutex;
    std::map<SetPath, std::shared_ptr<const sources::ShardIndex>> indexes ABSL_GUARDED_BY(mutex);
  };
  const auto shared = std::make_shared<Known>();
  {
    MutexLock lock(&shared->mutex);
    shared->indexes = std::move(known);
  }
  return [storage, shared, options = std::move(options)](
             const sources::SnapshotShard& shard, const std::string& path,
             const std::stop_token& stop) -> absl::StatusOr<std::shared_ptr<const sources::ShardIndex>> {
    PS_ASSIGN_OR_RETURN(const std::unique_ptr<storage::StoredFile> file, storage->OpenAndWait(path));
    sources::IndexOptions stoppable = options.at(shard.set);
    {
      MutexLock lock(&shared->mutex);
      const auto it = shared->indexes.find({shard.set, path});
      if (it != shared->indexes.end() && it->second->file_info() == file->opened()) return it->second;
      if (it != shared->indexes.end()) stoppable.earlier = it->second;
    }
    stoppable.stop = stop;
    PS_ASSIGN_OR_RETURN(const sources::LoadedIndex walked, sources::BuildIndexOf(storage, path, stoppable));
    MutexLock lock(&shared->mutex);
    shared->indexes[{shard.set, path}] = walked.index;
    return walked.index;
  };
}

}  // namespace

absl::StatusOr<std::shared_ptr<DatasetReader>> OpenDataset(
    storage::Storage* storage, const v1::JobSpec& job, const std::vector<sources::DataRoot>& roots,
    const std::optional<sources::IndexStore>& indexes, int threads, std::shared_ptr<storage::FileErrors> file_errors,
    Executor* executor, const std::function<void(const std::string&)>& warn) {
  if (job.dataset_size() == 0) return absl::InvalidArgumentError(absl::StrCat("job ", job.name(), " has no dataset"));
  std::vector<OpenedSet> sets;
  for (int set = 0; set < job.dataset_size(); ++set) {
    PS_ASSIGN_OR_RETURN(sets.emplace_back(), OpenSet(storage, job, set, roots));
  }
  PS_ASSIGN_OR_RETURN(const auto built, BuildAll(storage, sets, indexes, threads, warn));

  std::vector<sources::SnapshotShard> shards;
  std::vector<uint32_t> set_shards;
  std::vector<sources::IndexOptions> options;
  std::map<SetPath, std::shared_ptr<const sources::ShardIndex>> known;
  for (size_t set = 0; set < sets.size(); ++set) {
    const std::vector<sources::DatasetFile>& files = sets[set].files;
    const auto of_set = std::span(built).subspan(shards.size(), files.size());
    PS_ASSIGN_OR_RETURN(const auto more, ShardsOf(job, static_cast<int>(set), files, of_set));
    for (size_t i = 0; i < files.size(); ++i) known[{static_cast<uint32_t>(set), files[i].path}] = of_set[i];
    shards.insert(shards.end(), more.begin(), more.end());
    set_shards.push_back(static_cast<uint32_t>(files.size()));
    options.push_back(std::move(sets[set].options));
  }
  if (!plan::HasNamedSets(job)) set_shards.clear();
  std::vector<std::string> groups;
  if (const v1::Select* const step = plan::GroupingStepOf(job.dataset(0))) {
    PS_ASSIGN_OR_RETURN(groups, SetGroups(*step, built, &shards));
  }
  PS_ASSIGN_OR_RETURN(sources::Snapshot snapshot,
                      sources::Snapshot::Create(std::move(shards), std::move(set_shards), std::move(groups)));

  DatasetReader::Options reader;
  reader.max_record_bytes = options.front().max_record_bytes;
  reader.executor = executor;
  reader.file_errors = std::move(file_errors);
  reader.selects = plan::SelectsRecords(job);
  reader.features = SetFeaturesOf(snapshot.containers(), job);
  IndexProvider provider = ProviderOf(storage, std::move(options), std::move(known));
  return DatasetReader::Create(storage, std::move(snapshot), roots, std::move(provider), reader);
}

}  // namespace penstock::loader
