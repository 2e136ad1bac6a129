// An IndexProvider for tests.
#ifndef PENSTOCK_TESTS_PIPELINE_LOADER_INDEXES_FROM_H_
#define PENSTOCK_TESTS_PIPELINE_LOADER_INDEXES_FROM_H_

#include <memory>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "pipeline/loader/dataset_reader.h"
#include "pipeline/sources/index_store.h"

namespace penstock::loader {

// Returns indexes from the sidecars of `store`, or builds and saves them.
inline IndexProvider IndexesFrom(sources::IndexStore store, sources::IndexOptions options) {
  return [store = std::move(store), options = std::move(options)](
             const sources::SnapshotShard& shard, const std::string& path,
             const std::stop_token& stop) -> absl::StatusOr<std::shared_ptr<const sources::ShardIndex>> {
    sources::IndexOptions stoppable = options;
    stoppable.stop = stop;
    PS_ASSIGN_OR_RETURN(sources::LoadedIndex loaded, store.LoadOrBuild(path, stoppable));
    return loaded.index;
  };
}

}  // namespace penstock::loader

#endif  // PENSTOCK_TESTS_PIPELINE_LOADER_INDEXES_FROM_H_
