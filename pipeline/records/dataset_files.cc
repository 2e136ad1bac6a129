#include "pipeline/records/dataset_files.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/near_name.h"
#include "base/status_macros.h"
#include "base/temporaries.h"
#include "base/url.h"
#include "pipeline/records/index_store.h"
#include "pipeline/records/object_files.h"
#include "pipeline/storage/files.h"
#include "pipeline/storage/object/object_name.h"

namespace penstock {
namespace {

constexpr size_t kLongestName = 255;

absl::StatusOr<std::string> RealPath(const std::string& path) {
  PS_ASSIGN_OR_RETURN(StoredName name, AnyFiles()->StatAndWait(path));
  return std::move(name.resolved);
}

// Whether absolute `path` is `root` or below it; both without symlinks and "..".
bool IsInside(std::string_view path, std::string_view root) {
  if (root == "/") return true;
  return path.substr(0, root.size()) == root && (path.size() == root.size() || path[root.size()] == '/');
}

// Also "s3:/".
bool IsOfObjects(const DataRoot& root) { return IsObjectName(root.path + "/"); }

std::string RootList(const std::vector<DataRoot>& roots) {
  if (roots.empty()) return "none are configured";
  return absl::StrJoin(roots, ", ",
                       [](std::string* out, const DataRoot& root) { absl::StrAppend(out, root.name, "=", root.path); });
}

// "s3:/" of a URL of objects: what its components stand below, as those of an absolute path stand below "".
std::string HeadOf(std::string_view path) {
  return IsObjectName(path) ? std::string(path.substr(0, path.find("//") + 1)) : "";
}

// Without the head of a URL.
std::vector<std::string> Components(std::string_view path) {
  std::vector<std::string> parts;
  path.remove_prefix(HeadOf(path).size());
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    if (slash > 0 && path.substr(0, slash) != ".") parts.emplace_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return parts;
}

// Sidecars and their temporary files are no shards.
bool IsSidecar(std::string_view name) {
  if (name.size() >= kIndexSuffix.size() && name.substr(name.size() - kIndexSuffix.size()) == kIndexSuffix) {
    return true;
  }
  return IsTemporary(name);
}

bool HasWildcard(const std::string& part) { return part.find_first_of("*?[\\") != std::string::npos; }

// The real path of `path`, which must be inside some root.
absl::StatusOr<std::string> Confine(const std::string& path, const std::vector<DataRoot>& roots) {
  // Objects have no links.
  std::string real = path;
  if (!IsObjectName(path)) {
    PS_ASSIGN_OR_RETURN(real, RealPath(path));
  }
  for (const DataRoot& root : roots) {
    if (IsInside(real, root.path)) return real;
  }
  return absl::PermissionDeniedError(
      absl::StrCat(path, " leads to ", real, ", outside of the data roots (", RootList(roots), ")"));
}

// Also of a link that leads nowhere, which is there all the same.
absl::StatusOr<bool> HasEntry(const std::string& folder, const std::string& name) {
  const absl::Status found = AnyFiles()->StatAndWait(absl::StrCat(folder, "/", name)).status();
  if (found.ok()) return true;
  if (!absl::IsNotFound(found)) return found;
  PS_ASSIGN_OR_RETURN(const std::vector<StoredEntry> entries, AnyFiles()->ListAndWait(folder));
  return std::any_of(entries.begin(), entries.end(), [&name](const StoredEntry& entry) { return entry.name == name; });
}

// Expands a glob below one root.
class Expander {
 public:
  Expander(const DataRoot& root, const std::vector<DataRoot>& roots, std::vector<DatasetFile>* files)
      : root_(root), roots_(roots), files_(files) {}

  absl::Status Expand(const std::vector<std::string>& parts) { return Walk("", parts, 0); }

 private:
  std::string FullPath(const std::string& relative) const {
    return absl::StrCat(root_.path == "/" ? "" : root_.path, "/", relative);
  }

  absl::Status Walk(const std::string& relative, const std::vector<std::string>& parts, size_t next) {
    if (next == parts.size()) return Add(relative);
    const std::string folder = FullPath(relative);
    const absl::StatusOr<StoredName> found = AnyFiles()->StatAndWait(folder);
    if (absl::IsNotFound(found.status())) return absl::OkStatus();
    if (!found.ok()) return found.status();
    if (found->kind != StoredEntry::Kind::kFolder) return absl::OkStatus();
    // Before anything of it is listed.
    PS_RETURN_IF_ERROR(Confine(folder, roots_).status());
    const std::string prefix = relative.empty() ? "" : relative + "/";
    if (!HasWildcard(parts[next])) {
      // No file has a longer name, and storages say so in ways of their own.
      if (parts[next].size() > kLongestName) return absl::OkStatus();
      PS_ASSIGN_OR_RETURN(const bool there, HasEntry(folder, parts[next]));
      return there ? Walk(prefix + parts[next], parts, next + 1) : absl::OkStatus();
    }
    PS_ASSIGN_OR_RETURN(const std::vector<StoredEntry> entries, AnyFiles()->ListAndWait(folder));
    for (const StoredEntry& entry : entries) {
      if (fnmatch(parts[next].c_str(), entry.name.c_str(), FNM_PERIOD) != 0) continue;
      PS_RETURN_IF_ERROR(Walk(prefix + entry.name, parts, next + 1));
    }
    return absl::OkStatus();
  }

  absl::Status Add(const std::string& relative) {
    if (relative.empty() || IsSidecar(relative)) return absl::OkStatus();
    const std::string path = FullPath(relative);
    PS_ASSIGN_OR_RETURN(const std::string real, Confine(path, roots_));
    PS_ASSIGN_OR_RETURN(const StoredName found, AnyFiles()->StatAndWait(real));
    if (found.kind == StoredEntry::Kind::kFolder) return absl::OkStatus();
    if (found.kind != StoredEntry::Kind::kFile) {
      return absl::InvalidArgumentError(absl::StrCat(path, " is no regular file; a shard must be one"));
    }
    files_->push_back({.root = root_.name, .relative_path = relative, .path = real});
    return absl::OkStatus();
  }

  const DataRoot& root_;
  const std::vector<DataRoot>& roots_;
  std::vector<DatasetFile>* const files_;
};

// What a folder holds, for a person who looked for `part` in it: "/data holds train-0, val/ (did you mean 'train-*'?)".
std::string WhatIsIn(const std::string& folder, const std::string& part) {
  constexpr size_t kShown = 8, kLeastStem = 3;
  const absl::StatusOr<std::vector<StoredEntry>> entries = AnyFiles()->ListAndWait(folder);
  if (!entries.ok()) return "";
  std::vector<std::string> shown;
  std::set<std::string> names, stems;
  const std::string stem = part.substr(0, part.find_first_of("*?[\\"));
  bool files = false;
  for (const StoredEntry& entry : *entries) {
    if (entry.name[0] == '.' || IsSidecar(entry.name)) continue;
    files = files || entry.kind != StoredEntry::Kind::kFolder;
    names.insert(absl::StrCat(entry.name, entry.kind == StoredEntry::Kind::kFolder ? "/" : ""));
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
      files ? "" : ", which are folders; `penstock import` makes shards of folders of images");
}

// Why nothing below the root matches: how far the glob leads, and what is there. "" where that cannot be seen.
std::string WhereItEnds(const DataRoot& root, const std::vector<std::string>& parts,
                        const std::vector<DataRoot>& roots) {
  std::string folder = root.path;
  size_t first = 0;
  if (IsOfObjects(root) && !IsObjectName(root.path)) {  // "s3:/", below which buckets are
    if (parts.empty()) return "";
    absl::StrAppend(&folder, "/", parts[first++]);
  }
  for (size_t i = first; i < parts.size(); ++i) {
    const std::string next = absl::StrCat(folder == "/" ? "" : folder, "/", parts[i]);
    const absl::StatusOr<StoredName> found =
        HasWildcard(parts[i]) ? absl::NotFoundError("") : AnyFiles()->StatAndWait(next);
    if (found.ok() && found->kind == StoredEntry::Kind::kFolder) {
      if (!Confine(next, roots).ok()) return "";
      folder = next;
      continue;
    }
    const bool last = i + 1 == parts.size();
    const std::string there = WhatIsIn(folder, parts[i]);
    return last || HasWildcard(parts[i]) || there.empty() ? there
                                                          : absl::StrCat("there is no folder ", next, "; ", there);
  }
  return absl::StrCat(folder, " is a folder; '", folder, "/*' stands for the files in it");
}

// The glob's components below the root; none where an absolute one does not lead into it. The root's own path is taken
// literally, as it is or as the operator wrote it.
std::optional<std::vector<std::string>> PartsBelow(const DataRoot& root, const std::string& glob) {
  std::vector<std::string> parts = Components(glob);
  const bool of_objects = IsObjectName(glob);
  if (glob[0] != '/' && !of_objects) return parts;
  if (of_objects != IsOfObjects(root)) return std::nullopt;
  const std::string normal = absl::StrCat(HeadOf(glob), "/", absl::StrJoin(parts, "/"));
  const bool as_given = !IsInside(normal, root.path);
  if (as_given && (root.given.empty() || !IsInside(normal, root.given))) return std::nullopt;
  const size_t prefix = Components((as_given ? root.given : root.path) + "/").size();
  parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(prefix));
  return parts;
}

absl::Status NoMatch(const std::string& glob, const std::vector<DataRoot>& roots) {
  constexpr size_t kMostRoots = 2;
  std::vector<std::string> ends;
  for (const DataRoot& root : roots) {
    const auto parts = PartsBelow(root, glob);
    if (!parts) continue;
    std::string end = ends.size() < kMostRoots ? WhereItEnds(root, *parts, roots) : "";
    if (!end.empty()) ends.push_back(std::move(end));
  }
  const bool anywhere = std::any_of(roots.begin(), roots.end(), [](const DataRoot& root) { return root.path == "/"; });
  return absl::NotFoundError(absl::StrCat("glob \"", glob, "\" matches no file",
                                          anywhere ? "" : absl::StrCat(" in the data roots (", RootList(roots), ")"),
                                          ends.empty() ? "" : ": ", absl::StrJoin(ends, "; ")));
}

absl::Status CheckGlob(const std::string& glob) {
  if (glob.empty()) return absl::InvalidArgumentError("an empty glob; say which files to read");
  if (glob.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError("a glob with a zero byte in it");
  }
  if (const std::string why = WhyNoUrl(glob); !why.empty()) return absl::InvalidArgumentError(why);
  if (IsObjectName(glob)) {
    // Of the wildcards '?' alone has another meaning in URLs.
    PS_RETURN_IF_ERROR(ParseObjectName(glob).status());
  }
  for (const std::string& part : Components(glob)) {
    if (part == "..") {
      return absl::InvalidArgumentError(
          absl::StrCat("glob \"", glob, "\" holds \"..\"; name the files below a data root instead"));
    }
  }
  return absl::OkStatus();
}

absl::Status ExpandOne(const std::string& given, const std::vector<DataRoot>& roots, std::vector<DatasetFile>* files) {
  PS_RETURN_IF_ERROR(CheckGlob(given));
  const std::string glob = WithoutFileScheme(given);
  const size_t before = files->size();
  bool inside = false;
  for (const DataRoot& root : roots) {
    const auto parts = PartsBelow(root, glob);
    if (!parts) continue;
    inside = true;
    PS_RETURN_IF_ERROR(IsOfObjects(root) ? ExpandObjects(root, *parts, files)
                                         : Expander(root, roots, files).Expand(*parts));
  }
  if (!inside) {
    return absl::InvalidArgumentError(
        absl::StrCat("glob \"", glob, "\" is outside of the data roots (", RootList(roots),
                     "); give one below them, or start the daemon with --data-root for its folder"));
  }
  if (files->size() == before) return NoMatch(glob, roots);
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

absl::StatusOr<std::vector<DataRoot>> ParseDataRoots(const std::vector<std::string>& specs) {
  std::vector<DataRoot> roots;
  for (const std::string& given : specs) {
    // "a=b" names a root; in "/x/a=b" the '=' belongs to the path.
    const size_t equals = given.find('=');
    const bool named = equals != std::string::npos && given.find('/') > equals;
    const std::string spec =
        named ? absl::StrCat(given.substr(0, equals + 1), WithoutFileScheme(given.substr(equals + 1)))
              : WithoutFileScheme(given);
    DataRoot root;
    if (const std::string path = named ? spec.substr(equals + 1) : spec; IsObjectName(path)) {
      PS_RETURN_IF_ERROR(ParseObjectName(path).status());
      const std::vector<std::string> parts = Components(path);
      root.path = absl::StrCat(HeadOf(path), "/", absl::StrJoin(parts, "/"));
      root.name = named ? spec.substr(0, equals) : parts.back();
      PS_RETURN_IF_ERROR(AddRoot(spec, std::move(root), &roots));
      continue;
    }
    absl::StatusOr<std::string> real = RealPath(named ? spec.substr(equals + 1) : spec);
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
    const absl::StatusOr<StoredName> folder = AnyFiles()->StatAndWait(root.path);
    if (!folder.ok() || folder->kind != StoredEntry::Kind::kFolder) {
      return absl::InvalidArgumentError(absl::StrCat("data root \"", spec, "\" is no folder"));
    }
    // Its own last component, not that of what a symlink leads to: the operator's name for it.
    std::vector<std::string> parts = Components(named ? root.path : spec);
    if (parts.empty() || parts.back() == "..") parts = Components(root.path);
    root.name = named ? spec.substr(0, equals) : parts.empty() ? "" : parts.back();
    PS_RETURN_IF_ERROR(AddRoot(spec, std::move(root), &roots));
  }
  return roots;
}

absl::StatusOr<std::vector<DatasetFile>> ExpandGlobs(const std::vector<std::string>& globs,
                                                     const std::vector<DataRoot>& roots) {
  if (roots.empty()) {
    return absl::FailedPreconditionError("no data roots are configured; name one with --data-root");
  }
  if (globs.empty()) return absl::InvalidArgumentError("no globs; say which files to read");
  std::vector<DatasetFile> files;
  for (const std::string& glob : globs) PS_RETURN_IF_ERROR(ExpandOne(glob, roots, &files));
  std::sort(files.begin(), files.end(), [](const DatasetFile& a, const DatasetFile& b) {
    return std::tie(a.root, a.relative_path) < std::tie(b.root, b.relative_path);
  });
  std::set<std::string> seen;
  std::erase_if(files, [&](const DatasetFile& file) { return !seen.insert(file.path).second; });
  return files;
}

absl::StatusOr<std::string> ResolveInRoots(std::string_view root, std::string_view relative_path,
                                           const std::vector<DataRoot>& roots) {
  const std::string relative(relative_path);
  if (relative.empty() || relative[0] == '/') {
    return absl::InvalidArgumentError(absl::StrCat("\"", relative, "\" is no path below a data root"));
  }
  PS_RETURN_IF_ERROR(CheckGlob(relative));
  for (const DataRoot& candidate : roots) {
    if (candidate.name == root) {
      return Confine(absl::StrCat(candidate.path == "/" ? "" : candidate.path, "/", relative), roots);
    }
  }
  return absl::NotFoundError(
      absl::StrCat("no data root is named \"", std::string(root), "\" here; there are: ", RootList(roots)));
}

}  // namespace penstock
