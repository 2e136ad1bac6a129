// Finds the files of a dataset. Expands globs, and only inside the configured data roots.
#ifndef PENSTOCK_PIPELINE_SOURCES_DATASET_FILES_H_
#define PENSTOCK_PIPELINE_SOURCES_DATASET_FILES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "pipeline/storage/storage.h"

namespace penstock::sources {

// A folder that datasets may be read from. Shards are identified by (root name, relative path), so that machines may
// store the same data at different paths.
struct DataRoot {
  std::string name;
  // Absolute, with symlinks resolved, without a trailing '/' (except "/"). For objects: "s3://bucket/folder". "s3:/"
  // contains all objects of the scheme, as "/" contains all files.
  std::string path;
  // The operator's spelling of a local path, made absolute. An absolute glob may begin with `given` or with `path`.
  // Empty for objects.
  std::string given = {};
};

// Parses "name=path" or "path". The name of a root without "name=" is the path's last component. A relative path is
// relative to the working folder. A '=' after a '/' belongs to the path. The path may be a URL of objects, which this
// call does not access. Returns an error if a local path is not a folder, if a URL is malformed, if a name is empty, or
// if two roots have the same name.
absl::StatusOr<std::vector<DataRoot>> ParseDataRoots(storage::Storage* storage, const std::vector<std::string>& specs);

struct DatasetFile {
  std::string root;                   // name of the root
  std::string relative_path;          // below the root, as the glob matched it
  std::string path;                   // the path to open: absolute, with symlinks resolved
  std::optional<FileInfo> info = {};  // set if the storage returned it with the listing

  bool operator==(const DatasetFile&) const = default;
};

// Returns all regular files that the globs match, sorted by the bytes of (root, relative_path). If several names lead
// to one file, the result has only the first name.
//   - A relative glob is tried in every root. An absolute one, or a URL, must begin with `path` or `given` of a root.
//   - `*`, `?` and `[...]` match within a path component, as in fnmatch(3). Only a dot matches a leading dot.
//   - Folders, index sidecars (".psidx") and temporary files are skipped.
// Errors:
//   FailedPrecondition  `roots` is empty
//   InvalidArgument     no glob; an empty glob, or one with ".." or a zero byte; a URL of another kind; a wildcard
//                       in the name of a bucket; a glob outside the roots; or a match that is neither a file nor a
//                       folder
//   PermissionDenied    a symlink leads out of the roots; the message lists the roots
//   NotFound            a glob has no match, and the message names the glob and the roots; or a match is a symlink
//                       without a target
//   Unimplemented       a wildcard on a web server, which has no listing
//   others              from the storage
absl::StatusOr<std::vector<DatasetFile>> ExpandGlobs(storage::Storage* storage, const std::vector<std::string>& globs,
                                                     const std::vector<DataRoot>& roots);

// Returns the absolute path, with symlinks resolved, of the file (root name, relative path). Wildcards have no meaning
// here. Does not check that a local path is a file, or that an object exists. Returns InvalidArgument and
// PermissionDenied as ExpandGlobs does, and NotFound if no root has the name or the local file does not exist. Each
// error names the file, except the error for a path with a zero byte.
absl::StatusOr<std::string> ResolveInRoots(storage::Storage* storage, std::string_view root,
                                           std::string_view relative_path, const std::vector<DataRoot>& roots);

// Returns the folder of a file, whose path is absolute or a URL.
std::string FolderOf(const std::string& path);
// Returns the path or URL of a file that a record names: a path relative to `folder`, an absolute path, or a URL.
// `folder` is the folder of the file with the record. Returns InvalidArgument for an empty name, a name with a zero
// byte, a URL of another kind, and ".." in a URL.
absl::StatusOr<std::string> PathOfNamedFile(storage::Storage* storage, const std::string& folder,
                                            std::string_view name);

// Returns the file below its root, with symlinks resolved, and its state. `found` is what the storage has at `path`.
//   InvalidArgument   no regular file
//   PermissionDenied  not in a root
absl::StatusOr<DatasetFile> PlaceNamedFile(const storage::Storage& storage, const std::string& path,
                                           const storage::StoredName& found, const std::vector<DataRoot>& roots);

// Returns the path of a placed file for the index of a file in `folder` that names it: relative to the folder if both
// are in the same root, otherwise "//", the name of its root, "/", and the path below it. So it holds on machines that
// have the roots at other places.
std::string PathForIndex(const storage::Storage& storage, const std::string& folder, const DatasetFile& file,
                         const std::vector<DataRoot>& roots);
// Returns the root of such a path, or "" if it is that of the folder.
std::string_view RootOfIndexed(std::string_view path);
// The inverse of PathForIndex(). Does not look at the file. NotFound: no root has the name. PermissionDenied: the file
// is not in a root.
absl::StatusOr<std::string> PathFromIndex(const storage::Storage& storage, const std::string& folder,
                                          std::string_view path, const std::vector<DataRoot>& roots);

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_DATASET_FILES_H_
