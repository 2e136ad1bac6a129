// Which files a dataset is: globs, expanded inside the configured data roots and nowhere else.
#ifndef PENSTOCK_PIPELINE_RECORDS_DATASET_FILES_H_
#define PENSTOCK_PIPELINE_RECORDS_DATASET_FILES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"

namespace penstock {

// A folder that datasets may be read from. Shards are known by (root name, relative path), so that
// machines may have the same data at unlike places.
struct DataRoot {
  std::string name;
  // Absolute, symlinks resolved, without a '/' at the end (except "/"); or of objects: "s3://bucket/folder". "s3:/" has
  // all objects of the scheme below it, as "/" has all files.
  std::string path;
  // As the operator wrote it, made absolute; absolute globs may begin with either. May be empty.
  std::string given = {};
};

// "name=path" or "path" (the name is then the path's last component); the path may be a URL of objects, which are not
// asked for yet. A relative path is taken from the working folder. An error when it is no folder, the name is empty or
// holds '/', or two roots have one name.
absl::StatusOr<std::vector<DataRoot>> ParseDataRoots(const std::vector<std::string>& specs);

struct DatasetFile {
  std::string root;                   // its root's name
  std::string relative_path;          // below the root, as matched
  std::string path;                   // absolute, symlinks resolved: what to open
  std::optional<FileInfo> info = {};  // where the storage told it with the names

  bool operator==(const DatasetFile&) const = default;
};

// All regular files that the globs match, sorted by the bytes of (root, relative_path), each file
// once (also when two names lead to it: the first stays).
//   - A relative glob is tried in every root; an absolute one, or a URL, must begin with a root's path.
//   - `*`, `?` and `[...]` within a path component, as fnmatch(3); a leading dot is matched only by a dot.
//   - Folders and index sidecars (".psidx") are skipped; a match that is neither file nor folder is an error.
// InvalidArgument: a glob with "..", a URL of another kind, or outside the roots. PermissionDenied: a symlink that
// leads out of the roots; the message lists them. NotFound: a glob without a match, named with the roots.
absl::StatusOr<std::vector<DatasetFile>> ExpandGlobs(const std::vector<std::string>& globs,
                                                     const std::vector<DataRoot>& roots);

// The file that is known as (root name, relative path): its absolute path with symlinks resolved.
// The same errors.
absl::StatusOr<std::string> ResolveInRoots(std::string_view root, std::string_view relative_path,
                                           const std::vector<DataRoot>& roots);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_RECORDS_DATASET_FILES_H_
