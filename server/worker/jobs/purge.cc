#include "server/worker/jobs/purge.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "pipeline/loader/data_format.h"
#include "pipeline/loader/load_job.h"
#include "server/common/log_fields.h"

namespace penstock::worker {
namespace {

// Returns the path by which the index of the file is named, even if the file is gone. Returns "" for a file of a root
// that this worker does not have: it has no index of it.
std::string PathOf(const v1::Shard& shard, const TaskTools& tools) {
  const absl::StatusOr<std::string> path =
      sources::ResolveInRoots(tools.storage, shard.root(), shard.path(), tools.roots);
  if (path.ok()) return *path;
  for (const sources::DataRoot& root : tools.roots) {
    if (root.name == shard.root()) return absl::StrCat(root.path == "/" ? "" : root.path, "/", shard.path());
  }
  return "";
}

}  // namespace

absl::Status Purge(const v1::Task& task, const TaskTools& tools, v1::PurgedBytes* purged) {
  const v1::PurgeJob& purge = task.purge();
  tools.jobs->Forget(task.job(), task.job_uid());
  if (purge.data_set() != 0) {
    std::vector<sources::ContainerKind> containers = {static_cast<sources::ContainerKind>(purge.container())};
    for (const int container : purge.more_containers()) {
      containers.push_back(static_cast<sources::ContainerKind>(container));
    }
    const loader::SetFeatures features = loader::SetFeaturesOf(containers, purge.spec());
    PS_ASSIGN_OR_RETURN(const loader::PurgedCaches caches,
                        tools.loader->PurgeCaches(loader::RecordSpaceOf(purge.data_set(), features)));
    purged->set_memory(caches.memory);
    purged->set_disk(caches.disk);
  }
  for (const v1::Shard& shard : purge.shards()) {
    const std::string path = PathOf(shard, tools);
    if (path.empty()) continue;
    PS_ASSIGN_OR_RETURN(const uint64_t bytes, tools.indexes->Remove(path));
    purged->set_indexes(purged->indexes() + bytes);
  }
  server::LogInfo({.job = task.job()}, "job '{}': freed {} bytes of indexes, {} in memory and {} of the disk cache",
                  task.job(), purged->indexes(), purged->memory(), purged->disk());
  return absl::OkStatus();
}

}  // namespace penstock::worker
