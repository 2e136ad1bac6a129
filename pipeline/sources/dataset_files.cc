#include "pipeline/sources/dataset_files.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/near_name.h"
#include "base/status_macros.h"
#include "base/temporaries.h"
#include "base/url.h"
#include "pipeline/sources/index_store.h"
#include "pipeline/sources/object_files.h"
#include "pipeline/storage/storage.h"

namespace penstock::sources {
namespace {

constexpr size_t kLongestName = 255;

absl::StatusOr<std::string> RealPath(storage::Storage* storage, const std::string& path) {
  PS_ASSIGN_OR_RETURN(storage::StoredName name, storage->StatAndWait(path));
  return std::move(name.resolved);
}

// Returns whether absolute `path` is `root` or below it. Both must be without symlinks and "..".
bool IsInside(std::string_view path, std::string_view root) {
  if (root == "/") return true;
  return path.substr(0, root.size()) == root && (path.size() == root.size() || path[root.size()] == '/');
}

// Returns whether the root holds objects, including "s3:/".
bool IsOfObjects(const storage::Storage& storage, const DataRoot& root) { return !storage.IsLocal(root.path + "/"); }

// Returns whether a web server may take the component of a URL for "..", or for several components.
bool LeadsUp(const std::string& part) {
  std::string decoded = absl::AsciiStrToLower(part);
  absl::StrReplaceAll({{"%2e", "."}, {"%2f", "/"}, {"%5c", "/"}}, &decoded);
  return decoded == ".." || decoded == "." || decoded.find('/') != std::string::npos;
}

// Returns whether an absolute path or a URL is in the root. No object is in "/".
bool Holds(const storage::Storage& storage, const DataRoot& root, const std::string& path) {
  return IsOfObjects(storage, root) != storage.IsLocal(path) && IsInside(path, root.path);
}

std::string RootList(const std::vector<DataRoot>& roots) {
  if (roots.empty()) return "none are configured";
  return absl::StrJoin(roots, ", ",
                       [](std::string* out, const DataRoot& root) { absl::StrAppend(out, root.name, "=", root.path); });
}

// Returns "s3:/" for a URL of objects, and "" for other paths. The components follow it.
std::string HeadOf(const storage::Storage& storage, const std::string& path) {
  return storage.IsLocal(path) ? "" : path.substr(0, path.find("//") + 1);
}

// Returns the path's components, without the head of a URL.
std::vector<std::string> Components(const storage::Storage& storage, const std::string& whole) {
  std::vector<std::string> parts;
  std::string_view path = whole;
  path.remove_prefix(HeadOf(storage, whole).size());
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    if (slash > 0 && path.substr(0, slash) != ".") parts.emplace_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return parts;
}

// Returns whether the name is that of a sidecar or of a temporary file, which are not shards.
bool IsSidecar(std::string_view name) {
  if (name.size() >= kIndexSuffix.size() && name.substr(name.size() - kIndexSuffix.size()) == kIndexSuffix) {
    return true;
  }
  return IsTemporary(name);
}

// Returns the real path of `path`. Returns PermissionDenied if it is not inside a root.
absl::StatusOr<std::string> Confine(storage::Storage* storage, const std::string& path,
                                    const std::vector<DataRoot>& roots) {
  // Objects have no links.
  std::string real = path;
  if (storage->IsLocal(path)) {
    PS_ASSIGN_OR_RETURN(real, RealPath(storage, path));
  }
  for (const DataRoot& root : roots) {
    if (IsInside(real, root.path)) return real;
  }
  return absl::PermissionDeniedError(
      absl::StrCat(path, " leads to ", real, ", outside of the data roots (", RootList(roots), ")"));
}

// Returns whether the folder has the entry. A dangling link counts.
absl::StatusOr<bool> HasEntry(storage::Storage* storage, const std::string& folder, const std::string& name) {
  const absl::Status found = storage->StatAndWait(absl::StrCat(folder, "/", name)).status();
  if (found.ok()) return true;
  if (!absl::IsNotFound(found)) return found;
  PS_ASSIGN_OR_RETURN(const std::vector<storage::StoredEntry> entries, storage->ListAndWait(folder));
  return std::any_of(entries.begin(), entries.end(),
                     [&name](const storage::StoredEntry& entry) { return entry.name == name; });
}

// Expands a glob below one root.
class FolderExpander {
 public:
  FolderExpander(storage::Storage* storage, const DataRoot& root, const std::vector<DataRoot>& roots,
                 std::vector<DatasetFile>* files)
      : storage_(storage), root_(root), roots_(roots), files_(files) {}

  absl::Status Expand(const std::vector<std::string>& parts) { return Walk("", parts, 0); }

 private:
  std::string FullPath(const std::string& relative) const {
    return absl::StrCat(root_.path == "/" ? "" : root_.path, "/", relative);
  }

  absl::Status Walk(const std::string& relative, const std::vector<std::string>& parts, size_t next) {
    if (next == parts.size()) return Add(relative);
    const std::string folder = FullPath(relative);
    const absl::StatusOr<storage::StoredName> found = storage_->StatAndWait(folder);
    if (absl::IsNotFound(found.status())) return absl::OkStatus();
    if (!found.ok()) return found.status();
    if (found->kind != storage::StoredEntry::Kind::kFolder) return absl::OkStatus();
    // Checked before anything in the folder is listed.
    PS_RETURN_IF_ERROR(Confine(storage_, folder, roots_).status());
    const std::string prefix = relative.empty() ? "" : relative + "/";
    if (!HasWildcard(parts[next])) {
      // No file has a longer name, and storages report such names in different ways.
      if (parts[next].size() > kLongestName) return absl::OkStatus();
      PS_ASSIGN_OR_RETURN(const bool there, HasEntry(storage_, folder, parts[next]));
      return there ? Walk(prefix + parts[next], parts, next + 1) : absl::OkStatus();
    }
    PS_ASSIGN_OR_RETURN(const std::vector<storage::StoredEntry> entries, storage_->ListAndWait(folder));
    for (const storage::StoredEntry& entry : entries) {
      if (fnmatch(parts[next].c_str(), entry.name.c_str(), FNM_PERIOD) != 0) continue;
      PS_RETURN_IF_ERROR(Walk(prefix + entry.name, parts, next + 1));
    }
    return absl::OkStatus();
  }

  absl::Status Add(const std::string& relative) {
    if (relative.empty() || IsSidecar(relative)) return absl::OkStatus();
    const std::string path = FullPath(relative);
    PS_ASSIGN_OR_RETURN(const std::string real, Confine(storage_, path, roots_));
    PS_ASSIGN_OR_RETURN(const storage::StoredName found, storage_->StatAndWait(real));
    if (found.kind == storage::StoredEntry::Kind::kFolder) return absl::OkStatus();
    if (found.kind != storage::StoredEntry::Kind::kFile) {
      return absl::InvalidArgumentError(absl::StrCat(path, " is no regular file; a shard must be one"));
    }
    files_->push_back({.root = root_.name, .relative_path = relative, .path = real});
    return absl::OkStatus();
  }

  storage::Storage* const storage_;
  const DataRoot& root_;
  const std::vector<DataRoot>& roots_;
  std::vector<DatasetFile>* const files_;
};

// Describes a folder's content for a user who looked for `part` in it: "/data holds train-0, val/ (did you mean
// 'train-*'?)".
std::string WhatIsIn(storage::Storage* storage, const std::string& folder, const std::string& part) {
  constexpr size_t kShown = 8, kLeastStem = 3;
  const absl::StatusOr<std::vector<storage::StoredEntry>> entries = storage->ListAndWait(folder);
  if (!entries.ok()) return "";
  std::vector<std::string> shown;
  std::set<std::string> names, stems;
  const std::string stem = part.substr(0, part.find_first_of("*?[\\"));
  bool files = false;
  for (const storage::StoredEntry& entry : *entries) {
    if (entry.name[0] == '.' || IsSidecar(entry.name)) continue;
    files = files || entry.kind != storage::StoredEntry::Kind::kFolder;
    names.insert(absl::StrCat(entry.name, entry.kind == storage::StoredEntry::Kind::kFolder ? "/" : ""));
    stems.insert(stem == part ? entry.name : entry.name.substr(0, stem.size()));
  }
  if (names.empty()) return absl::StrCat(folder, " is empty");
  for (const std::string& name : names) {
    if (shown.size() < kShown) shown.push_back(name);
  }
  std::string near = stem.size() < kLeastStem ? "" : NearName(stem, {stems.begin(), stems.end()});
  if (!near.empty() && near[0] != stem[0]) near.clear();
  return absl::StrCat(
      folder, " holds ", absl::StrJoin(shown, ", "),
      names.size() > kShown ? absl::StrCat(" and ", names.size() - kShown, " more") : "",
      near.empty() || near == stem ? "" : absl::StrCat(" (did you mean '", near, part.substr(stem.size()), "'?)"),
      files ? "" : ", which are folders; `penstock init` writes a job for a folder of images");
}

// Describes why the glob matches nothing below the root. Names the deepest folder of the glob that exists, and lists
// what the folder contains. Returns "" if the cause cannot be determined.
std::string WhereItEnds(storage::Storage* storage, const DataRoot& root, const std::vector<std::string>& parts,
                        const std::vector<DataRoot>& roots) {
  std::string folder = root.path;
  size_t first = 0;
  if (IsOfObjects(*storage, root) && storage->IsLocal(root.path)) {  // "s3:/": the next component is a bucket
    if (parts.empty()) return "";
    absl::StrAppend(&folder, "/", parts[first++]);
  }
  for (size_t i = first; i < parts.size(); ++i) {
    const std::string next = absl::StrCat(folder == "/" ? "" : folder, "/", parts[i]);
    const absl::StatusOr<storage::StoredName> found =
        HasWildcard(parts[i]) ? absl::NotFoundError("") : storage->StatAndWait(next);
    if (found.ok() && found->kind == storage::StoredEntry::Kind::kFolder) {
      if (!Confine(storage, next, roots).ok()) return "";
      folder = next;
      continue;
    }
    const bool last = i + 1 == parts.size();
    const std::string there = WhatIsIn(storage, folder, parts[i]);
    return last || HasWildcard(parts[i]) || there.empty() ? there
                                                          : absl::StrCat("there is no folder ", next, "; ", there);
  }
  return absl::StrCat(folder, " is a folder; '", folder, "/*' stands for the files in it");
}

// Returns the glob's components below the root. Returns nullopt if the glob is absolute and outside of the root. An
// absolute glob begins with the root's path, resolved or in the operator's spelling; that part has no wildcards.
std::optional<std::vector<std::string>> PartsBelow(const storage::Storage& storage, const DataRoot& root,
                                                   const std::string& glob) {
  std::vector<std::string> parts = Components(storage, glob);
  const bool of_objects = !storage.IsLocal(glob);
  if (glob[0] != '/' && !of_objects) return parts;
  if (of_objects != IsOfObjects(storage, root)) return std::nullopt;
  const std::string normal = absl::StrCat(HeadOf(storage, glob), "/", absl::StrJoin(parts, "/"));
  const bool as_given = !IsInside(normal, root.path);
  if (as_given && (root.given.empty() || !IsInside(normal, root.given))) return std::nullopt;
  const size_t prefix = Components(storage, (as_given ? root.given : root.path) + "/").size();
  parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(prefix));
  return parts;
}

absl::Status NoMatch(storage::Storage* storage, const std::string& glob, const std::vector<DataRoot>& roots) {
  constexpr size_t kMostRoots = 2;
  std::vector<std::string> ends;
  for (const DataRoot& root : roots) {
    const auto parts = PartsBelow(*storage, root, glob);
    if (!parts) continue;
    std::string end = ends.size() < kMostRoots ? WhereItEnds(storage, root, *parts, roots) : "";
    if (!end.empty()) ends.push_back(std::move(end));
  }
  const bool anywhere = std::any_of(roots.begin(), roots.end(), [](const DataRoot& root) { return root.path == "/"; });
  return absl::NotFoundError(absl::StrCat("glob \"", glob, "\" matches no file",
                                          anywhere ? "" : absl::StrCat(" in the data roots (", RootList(roots), ")"),
                                          ends.empty() ? "" : ": ", absl::StrJoin(ends, "; ")));
}

absl::Status CheckGlob(const storage::Storage& storage, const std::string& glob) {
  if (glob.empty()) return absl::InvalidArgumentError("an empty glob; name the files to read");
  if (glob.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError("a glob with a zero byte in it");
  }
  // In an HTTP URL, '?' would start the query, so CheckName() rejects it there. No other wildcard has a second meaning.
  PS_RETURN_IF_ERROR(storage.CheckName(glob));
  for (const std::string& part : Components(storage, glob)) {
    if (part == "..") {
      return absl::InvalidArgumentError(
          absl::StrCat("glob \"", glob, "\" holds \"..\"; name the files below a data root instead"));
    }
  }
  return absl::OkStatus();
}

absl::Status ExpandOne(storage::Storage* storage, const std::string& given, const std::vector<DataRoot>& roots,
                       std::vector<DatasetFile>* files) {
  PS_RETURN_IF_ERROR(CheckGlob(*storage, given));
  const std::string glob = WithoutFileScheme(given);
  const size_t before = files->size();
  bool inside = false;
  for (const DataRoot& root : roots) {
    const auto parts = PartsBelow(*storage, root, glob);
    if (!parts) continue;
    inside = true;
    PS_RETURN_IF_ERROR(IsOfObjects(*storage, root) ? ExpandObjects(storage, root, *parts, files)
                                                   : FolderExpander(storage, root, roots, files).Expand(*parts));
  }
  if (!inside) {
    return absl::InvalidArgumentError(
        absl::StrCat("glob \"", glob, "\" is outside of the data roots (", RootList(roots),
                     "); give one below them, or start the daemon with --data-root for its folder"));
  }
  if (files->size() == before) return NoMatch(storage, glob, roots);
  return absl::OkStatus();
}

absl::Status AddRoot(const std::string& spec, DataRoot root, std::vector<DataRoot>* roots) {
  if (root.name.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("data root \"", spec, "\" has no name; write name=path"));
  }
  for (const DataRoot& other : *roots) {
    if (other.name == root.name) {
      return absl::InvalidArgumentError(absl::StrCat("two data roots are named \"", root.name, "\": ", other.path,
                                                     " and ", root.path, "; give one another name with name=path"));
    }
  }
  roots->push_back(std::move(root));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<DataRoot>> ParseDataRoots(storage::Storage* storage, const std::vector<std::string>& specs) {
  std::vector<DataRoot> roots;
  for (const std::string& given : specs) {
    // "a=b" names a root. In "/x/a=b", '=' belongs to the path.
    const size_t equals = given.find('=');
    const bool named = equals != std::string::npos && given.find('/') > equals;
    const std::string spec =
        named ? absl::StrCat(given.substr(0, equals + 1), WithoutFileScheme(given.substr(equals + 1)))
              : WithoutFileScheme(given);
    DataRoot root;
    if (const std::string path = named ? spec.substr(equals + 1) : spec; !storage->IsLocal(path)) {
      PS_RETURN_IF_ERROR(storage->CheckName(path));
      const std::vector<std::string> parts = Components(*storage, path);
      root.path = absl::StrCat(HeadOf(*storage, path), "/", absl::StrJoin(parts, "/"));
      root.name = named ? spec.substr(0, equals) : parts.empty() ? "" : parts.back();
      PS_RETURN_IF_ERROR(AddRoot(spec, std::move(root), &roots));
      continue;
    }
    absl::StatusOr<std::string> real = RealPath(storage, named ? spec.substr(equals + 1) : spec);
    if (absl::IsNotFound(real.status())) {
      return absl::NotFoundError(
          absl::StrCat("data root \"", spec, "\": there is no such folder; make it, or name another one"));
    }
    if (!real.ok()) {
      return absl::Status(real.status().code(), absl::StrCat("data root \"", spec, "\": ", real.status().message()));
    }
    root.path = *std::move(real);
    std::error_code error;
    const auto as_given = std::filesystem::absolute(named ? spec.substr(equals + 1) : spec, error);
    root.given = error ? root.path : as_given.lexically_normal().string();
    if (root.given.size() > 1 && root.given.back() == '/') root.given.pop_back();
    const absl::StatusOr<storage::StoredName> folder = storage->StatAndWait(root.path);
    if (!folder.ok() || folder->kind != storage::StoredEntry::Kind::kFolder) {
      return absl::InvalidArgumentError(absl::StrCat("data root \"", spec, "\" is no folder"));
    }
    // The last component of the path itself, not of a symlink's target, because it is the operator's name.
    std::vector<std::string> parts = Components(*storage, named ? root.path : spec);
    if (parts.empty() || parts.back() == "..") parts = Components(*storage, root.path);
    root.name = named ? spec.substr(0, equals) : parts.empty() ? "" : parts.back();
    PS_RETURN_IF_ERROR(AddRoot(spec, std::move(root), &roots));
  }
  return roots;
}

absl::StatusOr<std::vector<DatasetFile>> ExpandGlobs(storage::Storage* storage, const std::vector<std::string>& globs,
                                                     const std::vector<DataRoot>& roots) {
  if (roots.empty()) {
    return absl::FailedPreconditionError("no data roots are configured; name one with --data-root");
  }
  if (globs.empty()) return absl::InvalidArgumentError("no globs; name the files to read");
  std::vector<DatasetFile> files;
  for (const std::string& glob : globs) PS_RETURN_IF_ERROR(ExpandOne(storage, glob, roots, &files));
  std::sort(files.begin(), files.end(), [](const DatasetFile& a, const DatasetFile& b) {
    return std::tie(a.root, a.relative_path) < std::tie(b.root, b.relative_path);
  });
  std::set<std::string> seen;
  std::erase_if(files, [&](const DatasetFile& file) { return !seen.insert(file.path).second; });
  return files;
}

absl::StatusOr<std::string> ResolveInRoots(storage::Storage* storage, std::string_view root,
                                           std::string_view relative_path, const std::vector<DataRoot>& roots) {
  const std::string relative(relative_path);
  if (relative.empty() || relative[0] == '/') {
    return absl::InvalidArgumentError(absl::StrCat("\"", relative, "\" is no path below a data root"));
  }
  PS_RETURN_IF_ERROR(CheckGlob(*storage, relative));
  for (const DataRoot& candidate : roots) {
    if (candidate.name == root) {
      return Confine(storage, absl::StrCat(candidate.path == "/" ? "" : candidate.path, "/", relative), roots);
    }
  }
  return absl::NotFoundError(
      absl::StrCat(relative, ": no data root is named \"", std::string(root), "\" here; there are: ", RootList(roots)));
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

absl::StatusOr<std::string> PathOfNamedFile(storage::Storage* storage, const std::string& folder,
                                            std::string_view given) {
  const std::string name = WithoutFileScheme(std::string(given));
  if (name.empty()) return absl::InvalidArgumentError("it names no file");
  if (name.find('\0') != std::string::npos) return absl::InvalidArgumentError("the name of its file has a zero byte");
  const bool is_whole = name[0] == '/' || name.find("://") != std::string::npos;
  std::string path = is_whole ? name : absl::StrCat(folder == "/" ? "" : folder, "/", name);
  PS_RETURN_IF_ERROR(storage->CheckName(path));
  if (storage->IsLocal(path)) return path;
  const std::vector<std::string> parts = Components(*storage, path);
  if (std::any_of(parts.begin(), parts.end(), LeadsUp)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": \"..\" is no folder of objects"));
  }
  return absl::StrCat(HeadOf(*storage, path), "/", absl::StrJoin(parts, "/"));
}

absl::StatusOr<DatasetFile> PlaceNamedFile(const storage::Storage& storage, const std::string& path,
                                           const storage::StoredName& found, const std::vector<DataRoot>& roots) {
  const std::string& real = storage.IsLocal(path) ? found.resolved : path;
  for (const DataRoot& root : roots) {
    if (!Holds(storage, root, real)) continue;
    if (found.kind != storage::StoredEntry::Kind::kFile) {
      return absl::InvalidArgumentError(absl::StrCat(path, " is no regular file"));
    }
    return DatasetFile{.root = root.name,
                       .relative_path = real.substr(root.path == "/" ? 1 : root.path.size() + 1),
                       .path = real,
                       .info = found.info};
  }
  return absl::PermissionDeniedError(absl::StrCat(path, real == path ? " is" : absl::StrCat(" leads to ", real, ","),
                                                  " outside of the data roots (", RootList(roots), ")"));
}

std::string PathForIndex(const storage::Storage& storage, const std::string& folder, const DatasetFile& file,
                         const std::vector<DataRoot>& roots) {
  if (IsInside(file.path, folder)) return file.path.substr(folder == "/" ? 1 : folder.size() + 1);
  const bool same_root = std::any_of(roots.begin(), roots.end(), [&](const DataRoot& root) {
    return root.name == file.root && Holds(storage, root, folder);
  });
  if (!same_root || !storage.IsLocal(file.path)) return absl::StrCat("//", file.root, "/", file.relative_path);
  return std::filesystem::path(file.path).lexically_relative(folder).string();
}

std::string_view RootOfIndexed(std::string_view path) {
  if (!path.starts_with("//")) return "";
  path.remove_prefix(2);
  return path.substr(0, path.find('/'));
}

absl::StatusOr<std::string> PathFromIndex(const storage::Storage& storage, const std::string& folder,
                                          std::string_view indexed, const std::vector<DataRoot>& roots) {
  std::string path = absl::StrCat(folder == "/" ? "" : folder, "/", std::string(indexed));
  if (const std::string_view name = RootOfIndexed(indexed); !name.empty()) {
    const auto root = std::find_if(roots.begin(), roots.end(), [&](const DataRoot& each) { return each.name == name; });
    if (root == roots.end()) {
      return absl::NotFoundError(absl::StrCat(std::string(indexed), ": no data root is named \"", std::string(name),
                                              "\" here; there are: ", RootList(roots)));
    }
    path = absl::StrCat(root->path == "/" ? "" : root->path, std::string(indexed.substr(name.size() + 2)));
  }
  const std::vector<std::string> parts = Components(storage, path);
  const bool goes_up = std::find(parts.begin(), parts.end(), "..") != parts.end();
  if (goes_up && storage.IsLocal(path)) path = std::filesystem::path(path).lexically_normal().string();
  const bool inside =
      (!goes_up || storage.IsLocal(path)) &&
      std::any_of(roots.begin(), roots.end(), [&](const DataRoot& root) { return Holds(storage, root, path); });
  if (inside) return path;
  return absl::PermissionDeniedError(absl::StrCat(path, " is outside of the data roots (", RootList(roots), ")"));
}

}  // namespace penstock::sources
