// Data on this machine, for the commands that need no daemon.
#ifndef PENSTOCK_CLIENT_CLI_LOCAL_DATA_H_
#define PENSTOCK_CLIENT_CLI_LOCAL_DATA_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "config/flags.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/records/dataset_files.h"
#include "pipeline/records/index_store.h"

namespace penstock::cli {

// Where local commands read and where they keep their indexes.
class LocalData {
 public:
  LocalData() = default;
  // As if --data-root had been given for each of `roots`.
  explicit LocalData(std::vector<std::string> roots) : roots_(std::move(roots)) {}

  // --data-root, --index-dir, --index-beside
  void AddFlags(Flags* flags);

  // The roots given by --data-root, or, without one, the whole file system: a user at his own machine may read what he
  // may read.
  absl::StatusOr<std::vector<DataRoot>> Roots() const;

  // A glob as the user typed it: without --data-root it is relative to the working folder.
  std::string Resolve(const std::string& glob) const;
  // The same for all globs of a job.
  void ResolveJob(v1::JobSpec* job) const;

  // A folder stands for all files in it, of import's and bake's the shards: the glob that says so. Other globs as they
  // are.
  absl::StatusOr<std::string> FilesOf(std::string glob) const;

  absl::StatusOr<std::vector<DatasetFile>> Expand(const std::string& glob) const;

  // $XDG_CACHE_HOME/penstock (or ~/.cache/penstock) unless --index-dir says another folder; made when needed.
  absl::StatusOr<std::string> IndexDir() const;
  absl::StatusOr<IndexStore> Indexes() const;

 private:
  std::vector<std::string> roots_;
  std::string index_dir_;
  bool beside_ = false;
};

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_LOCAL_DATA_H_
