// Stores indexes in a local folder or beside the shards, so that a shard is walked only once and not at each start.
#ifndef PENSTOCK_PIPELINE_SOURCES_INDEX_STORE_H_
#define PENSTOCK_PIPELINE_SOURCES_INDEX_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/sources/index_builder.h"
#include "pipeline/sources/record_selection.h"
#include "pipeline/sources/shard_index.h"
#include "pipeline/storage/storage.h"

namespace penstock::sources {

// The suffix of a sidecar's file name. Dataset globs never match it.
constexpr std::string_view kIndexSuffix = ".psidx";

// An index and its origin.
struct LoadedIndex {
  std::shared_ptr<const ShardIndex> index;
  // Built by this call, not read from its sidecar.
  bool built = false;
  // Set only if built: the error of writing the sidecar. The index is valid, but the caller should report the error to
  // the operator, because the next start will build it again.
  absl::Status save_status = {};
  // Set only if built: a sentence for the operator about the bad records that the selection left out, with the first of
  // them. "": none.
  std::string left_out = {};
};

// Thread-safe. Any number of processes may share the folder, because sidecars are replaced atomically.
class IndexStore {
 public:
  // Stores sidecars in `state_dir`/indexes, which Save() creates if needed. A sidecar's name has the first 200 bytes of
  // the shard's file name and a hash of its full path.
  static IndexStore InStateDir(storage::Storage* storage, std::string state_dir);
  // Stores sidecars beside the shards: "train-00000" gets "train-00000.psidx". For shards in object storage, writes
  // objects.
  static IndexStore BesideShards(storage::Storage* storage);

  // Returns the storage of the shards.
  storage::Storage* storage() const { return storage_; }

  // Returns the path of the sidecar of the shard at `path`, whether or not it exists. Makes `path` absolute first,
  // without resolving symlinks. `variant` is that of IndexOptions, here and below.
  std::string SidecarPath(const std::string& path, uint64_t variant = 0) const;

  // Loads the sidecar of the shard at `path`. Returns NotFound if there is no sidecar or no shard, or if the shard's
  // size, mtime or tag has changed. Also returns the errors of ShardIndex::Parse and of the storage.
  absl::StatusOr<ShardIndex> Load(const std::string& path, uint64_t variant = 0) const;

  // Loads the sidecar for any state of the shard. Returns NotFound if there is none, and the errors of
  // ShardIndex::Parse and of the storage.
  absl::StatusOr<ShardIndex> LoadOfAnyState(const std::string& path, uint64_t variant = 0) const;

  // Writes the sidecar atomically.
  absl::Status Save(const std::string& path, const ShardIndex& index, uint64_t variant = 0) const;

  // Removes the sidecars of the shard, also those of selections. Returns their size, or 0 if there are none. Never
  // removes a sidecar beside its shard, because it belongs to the owner of the data; returns 0 then. Errors name the
  // sidecar.
  absl::StatusOr<uint64_t> Remove(const std::string& path) const;

  // Returns the index of a valid sidecar that satisfies `options` (compression, container, longest record). Otherwise
  // builds the index and saves it. Returns the errors of BuildShardIndex and of the file. With options.verify_data it
  // always builds the index, because a sidecar does not record whether data was verified.
  //
  // With options.selection, returns the index of the selected records, and also the errors of
  // RecordSelection::Select(). Without options.earlier, a sidecar of another state of the file takes its place, unless
  // it left out bad records. So a record that is damaged later stays selected, and a repaired one is seen.
  absl::StatusOr<LoadedIndex> LoadOrBuild(const std::string& path, const IndexOptions& options = {}) const;

 private:
  // Builds and saves the index of all records.
  absl::StatusOr<LoadedIndex> BuildWhole(const std::string& path, const IndexOptions& options) const;
  // Returns the folder of the sidecars of selections, for sidecars that are not beside the shards.
  std::string FolderOfSelections(const std::string& path) const;

  IndexStore(storage::Storage* storage, std::string folder) : storage_(storage), folder_(std::move(folder)) {}

  storage::Storage* storage_;
  std::string folder_;  // empty: beside the shards
};

// Builds the index of the shard at `path`, without a sidecar. Errors are those of IndexStore::LoadOrBuild.
absl::StatusOr<LoadedIndex> BuildIndexOf(storage::Storage* storage, const std::string& path,
                                         const IndexOptions& options);

struct IndexProgress {
  uint64_t files_done = 0, files_total = 0;
  // Bytes of shard files. A shard with a valid sidecar adds its whole size in one step.
  uint64_t bytes_done = 0, bytes_total = 0;
};

// Calls LoadOrBuild for all `paths`, each with its `options`, and returns the results in the order of `paths`. Uses up
// to `threads` threads, one of them the caller's; less than 1 means 1. A damaged shard does not stop the others.
// `progress` may be empty. Any of the threads may call it, one at a time. IndexOptions::progress is ignored.
std::vector<absl::StatusOr<LoadedIndex>> BuildIndexes(const IndexStore& store, const std::vector<std::string>& paths,
                                                      const std::vector<const IndexOptions*>& options, int threads,
                                                      const std::function<void(const IndexProgress&)>& progress = {});
// The same with one set of options.
std::vector<absl::StatusOr<LoadedIndex>> BuildIndexes(const IndexStore& store, const std::vector<std::string>& paths,
                                                      const IndexOptions& options, int threads,
                                                      const std::function<void(const IndexProgress&)>& progress = {});

// Returns a warning that names the number of indexes that could not be stored, and the first error. Returns "" if all
// were stored. `loaded` is the result of BuildIndexes; indexes with an error do not count.
std::string UnsavedText(const std::vector<absl::StatusOr<LoadedIndex>>& loaded);

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_INDEX_STORE_H_
