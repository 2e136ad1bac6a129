#include "pipeline/loader/open_dataset.h"

#include <map>
#include <optional>
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
#include "pipeline/selection/job_selection.h"
#include "pipeline/sources/index_builder.h"
#include "pipeline/sources/index_job.h"
#include "pipeline/sources/index_store.h"

namespace penstock::loader {

absl::StatusOr<std::shared_ptr<DatasetReader>> OpenDataset(
    storage::Storage* storage, const v1::JobSpec& job, const std::vector<sources::DataRoot>& roots,
    const std::optional<sources::IndexStore>& indexes, int threads, std::shared_ptr<storage::FileErrors> file_errors,
    Executor* executor, const std::function<void(const std::string&)>& warn) {
  if (job.dataset_size() == 0) return absl::InvalidArgumentError(absl::StrCat("job ", job.name(), " has no dataset"));
  const v1::Dataset& dataset = plan::DatasetOf(job);
  std::vector<sources::DatasetFile> files;
  std::vector<uint32_t> set_files;
  for (const v1::Dataset& set : job.dataset()) {
    const std::vector<std::string> globs(set.files().begin(), set.files().end());
    PS_ASSIGN_OR_RETURN(const std::vector<sources::DatasetFile> found, sources::ExpandGlobs(storage, globs, roots));
    files.insert(files.end(), found.begin(), found.end());
    set_files.push_back(static_cast<uint32_t>(found.size()));
  }
  if (!plan::HasNamedSets(job)) set_files.clear();
  std::vector<std::string> paths;
  for (const sources::DatasetFile& file : files) paths.push_back(file.path);
  PS_ASSIGN_OR_RETURN(const std::optional<v1::Selection> selection, selection::MakeSelection(storage, job, paths));
  PS_ASSIGN_OR_RETURN(const sources::IndexOptions options,
                      selection::WithSelection(sources::IndexOptionsOf(job), selection.value_or(v1::Selection())));

  std::map<std::string, std::shared_ptr<const sources::ShardIndex>> built;  // by path
  if (!indexes.has_value()) {
    for (const std::string& path : paths) {
      PS_ASSIGN_OR_RETURN(const sources::LoadedIndex loaded, sources::BuildIndexOf(storage, path, options));
      if (warn && !loaded.left_out.empty()) warn(loaded.left_out);
      built[path] = loaded.index;
    }
  } else {
    std::vector<absl::StatusOr<sources::LoadedIndex>> loaded =
        sources::BuildIndexes(*indexes, paths, options, threads > 0 ? threads : AvailableCpus());
    for (size_t i = 0; i < files.size(); ++i) {
      if (!loaded[i].ok()) return loaded[i].status();
      if (warn && !loaded[i]->left_out.empty()) warn(loaded[i]->left_out);
      built[files[i].path] = loaded[i]->index;
    }
    const std::string unsaved = sources::UnsavedText(loaded);
    if (warn && !unsaved.empty()) warn(unsaved);
  }
  std::vector<sources::SnapshotShard> shards;
  for (const sources::DatasetFile& file : files) {
    const sources::ShardIndex& index = *built.at(file.path);
    sources::SnapshotShard shard;
    shard.root = file.root;
    shard.relative_path = file.relative_path;
    shard.size = index.file_size;
    shard.record_count = index.record_count();
    shard.content_hash = index.content_hash;
    shard.data_bytes = index.data_bytes();
    shard.container = index.kind().container;
    shards.push_back(std::move(shard));
  }
  std::vector<uint64_t> counts;
  for (const sources::SnapshotShard& shard : shards) counts.push_back(shard.record_count);
  const std::vector<plan::RecordRun> kept = plan::KeptRuns(dataset, counts);
  for (size_t i = 0; i < shards.size(); ++i) shards[i].Slice(kept[i].first, kept[i].stride, kept[i].count);
  PS_ASSIGN_OR_RETURN(sources::Snapshot snapshot, sources::Snapshot::Create(std::move(shards), set_files));
  if (selection.has_value() && snapshot.total_records() == 0) {
    uint64_t records = 0;
    for (const auto& [path, index] : built) records += index->shard_records();
    return selection::NothingSelected(records, files.size());
  }
  struct Known {
    Mutex mutex;
    std::map<std::string, std::shared_ptr<const sources::ShardIndex>> indexes ABSL_GUARDED_BY(mutex);  // by path
  };
  const auto known = std::make_shared<Known>();
  {
    MutexLock lock(&known->mutex);
    known->indexes = std::move(built);
  }
  IndexProvider provider =
      [storage, known, options](
          const sources::SnapshotShard& shard, const std::string& path,
          const std::stop_token& stop) -> absl::StatusOr<std::shared_ptr<const sources::ShardIndex>> {
    PS_ASSIGN_OR_RETURN(const std::unique_ptr<storage::StoredFile> file, storage->OpenAndWait(path));
    sources::IndexOptions stoppable = options;
    {
      MutexLock lock(&known->mutex);
      const auto it = known->indexes.find(path);
      if (it != known->indexes.end() && it->second->file_info() == file->opened()) return it->second;
      if (it != known->indexes.end()) stoppable.earlier = it->second;
    }
    stoppable.stop = stop;
    PS_ASSIGN_OR_RETURN(const sources::LoadedIndex walked, sources::BuildIndexOf(storage, path, stoppable));
    MutexLock lock(&known->mutex);
    known->indexes[path] = walked.index;
    return walked.index;
  };
  DatasetReader::Options reader;
  reader.max_record_bytes = options.max_record_bytes;
  reader.executor = executor;
  reader.file_errors = std::move(file_errors);
  reader.selects = selection.has_value();
  reader.features = RequestedFeaturesOf(snapshot.container(), job);
  return DatasetReader::Create(storage, std::move(snapshot), roots, std::move(provider), reader);
}

}  // namespace penstock::loader
