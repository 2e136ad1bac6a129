// The data of commands that need no daemon.
#ifndef PENSTOCK_CLIENT_CLI_LOCAL_DATA_H_
#define PENSTOCK_CLIENT_CLI_LOCAL_DATA_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "config/flags.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/sources/dataset_files.h"
#include "pipeline/sources/index_builder.h"
#include "pipeline/sources/index_store.h"

namespace penstock::cli {

// The data roots and the index folder of local commands.
class LocalData {
 public:
  // `storage` opens all files and objects, and must outlive this object. `roots` are values of --data-root.
  explicit LocalData(storage::Storage* storage, std::vector<std::string> roots = {})
      : storage_(storage), roots_(std::move(roots)) {}

  // Adds --data-root, --index-dir, --index-beside, --source, --manifest.
  // `windows`: whether the command has the flag --window.
  void AddFlags(config::Flags* flags, bool windows = true);

  storage::Storage* storage() const { return storage_; }

  // Returns the roots of --data-root. Without the flag, returns the whole file system and all remote storage, because
  // users may read all files to which they have access.
  absl::StatusOr<std::vector<sources::DataRoot>> Roots() const;

  // Resolves a glob from the command line. Without --data-root it is relative to the working folder.
  std::string Resolve(const std::string& glob) const;
  // Resolves all globs of a job.
  void ResolveJob(v1::JobSpec* job) const;

  // Returns the path of the folder that the argument names, or "" if it names none.
  absl::StatusOr<std::string> FolderOf(std::string argument) const;
  // Makes the files of a glob manifests with the usual names of fields, as --source MANIFEST does.
  void ReadManifests() { source_ = "MANIFEST"; }

  // Returns the glob of a folder's files, or only of its shards if import or bake wrote the folder. Returns other globs
  // without a file:// scheme.
  absl::StatusOr<std::string> FilesOf(std::string glob) const;

  absl::StatusOr<std::vector<sources::DatasetFile>> Expand(const std::string& glob) const;

  // Returns the kind of the files that --source names, AUTO without the flag. It is for globs; a job file has its own.
  absl::StatusOr<v1::Source::Kind> Source() const;
  // Returns the windows of --window, without a size if there is no flag.
  absl::StatusOr<v1::Window> Window() const;
  // Returns the fields of --manifest; without the flag, those with the usual names.
  absl::StatusOr<v1::Manifest> Manifest() const;
  // Returns the options of indexes for these flags. Returns a usage error if the kind needs windows, and there are
  // none.
  absl::StatusOr<sources::IndexOptions> IndexOptions() const;
  // Returns a usage error if the user gave --source, --window or --manifest. The job file at `path` names the kind
  // itself.
  absl::Status CheckNoSource(const std::string& path) const;

  // Returns the folder of --index-dir, by default $XDG_CACHE_HOME/penstock or ~/.cache/penstock. Creates it if
  // necessary.
  absl::StatusOr<std::string> IndexDir() const;
  // Returns the indexes in that folder or, with --index-beside, beside the shards. `storage` holds shards and indexes.
  absl::StatusOr<sources::IndexStore> Indexes(storage::Storage* storage) const;
  absl::StatusOr<sources::IndexStore> Indexes() const { return Indexes(storage_); }

 private:
  storage::Storage* const storage_;
  std::vector<std::string> roots_;
  std::string index_dir_, source_, window_, manifest_;
  bool beside_ = false;
};

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_LOCAL_DATA_H_
