// Indexes kept on disk, so that a shard is walked once and not at each start.
#ifndef PENSTOCK_PIPELINE_RECORDS_INDEX_STORE_H_
#define PENSTOCK_PIPELINE_RECORDS_INDEX_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/records/index_builder.h"
#include "pipeline/records/shard_index.h"

namespace penstock {

// How a sidecar's file name ends; dataset globs never match such files.
constexpr std::string_view kIndexSuffix = ".psidx";

// An index, and how it was come by.
struct LoadedIndex {
  std::shared_ptr<const ShardIndex> index;
  // Built now, rather than read from its sidecar.
  bool built = false;
  // Only when built: why the sidecar could not be written. The index is good all the same; say it
  // to the operator, since the next start will build again.
  absl::Status save_status = {};
};

// Thread-safe; any number of processes may share the folder (sidecars are replaced in one step).
class IndexStore {
 public:
  // Sidecars in `state_dir`/indexes (made when needed), named by the shard's file name and a hash
  // of its full path.
  static IndexStore InStateDir(std::string state_dir);
  // Sidecars beside the shards: "train-00000" gets "train-00000.psidx".
  static IndexStore BesideShards();

  // Where the sidecar of the shard at `path` is or would be. `path` is made absolute first
  // (symlinks are not resolved).
  std::string SidecarPath(const std::string& path) const;

  // The sidecar of the shard at `path`. NotFound when there is none, or when the shard's size or
  // mtime is another than at the time of indexing. DataLoss when the sidecar is damaged.
  absl::StatusOr<ShardIndex> Load(const std::string& path) const;

  // Writes the sidecar atomically.
  absl::Status Save(const std::string& path, const ShardIndex& index) const;

  // The trusted sidecar when there is one that serves `options` (same compression, no longer record
  // than allowed), else builds the index and saves it. Errors are BuildShardIndex's and the file's.
  // With options.verify_data the index is always built, since a sidecar does not say whether data
  // was checked.
  absl::StatusOr<LoadedIndex> LoadOrBuild(const std::string& path, const IndexOptions& options = {}) const;

 private:
  explicit IndexStore(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;  // empty: beside the shards
};

struct IndexProgress {
  uint64_t files_done = 0, files_total = 0;
  uint64_t bytes_done = 0,
           bytes_total = 0;  // of the shard files; sidecars that are there count at once
};

// LoadOrBuild for all `paths` on `threads` threads (at least 1), in the order of `paths`. One
// broken shard does not stop the others. `progress` may be empty; it is called from those threads,
// one call at a time; options.progress is unused.
std::vector<absl::StatusOr<LoadedIndex>> BuildIndexes(const IndexStore& store, const std::vector<std::string>& paths,
                                                      const IndexOptions& options, int threads,
                                                      const std::function<void(const IndexProgress&)>& progress = {});

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_RECORDS_INDEX_STORE_H_
