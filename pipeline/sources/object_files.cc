#include "pipeline/sources/object_files.h"

#include <fnmatch.h>

#include <cstddef>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/temporaries.h"
#include "pipeline/sources/index_store.h"

namespace penstock::sources {
namespace {

bool IsShard(const std::string& name) {
  return !absl::EndsWith(name, absl::string_view(kIndexSuffix.data(), kIndexSuffix.size())) && !IsTemporary(name);
}

class ObjectExpander {
 public:
  ObjectExpander(storage::Storage* storage, const DataRoot& root, const std::vector<std::string>& parts,
                 std::vector<DatasetFile>* files)
      : storage_(storage), root_(root), parts_(parts), files_(files) {}

  absl::Status Walk(std::string relative, size_t next) {
    while (next < parts_.size() && !HasWildcard(parts_[next])) {
      absl::StrAppend(&relative, relative.empty() ? "" : "/", parts_[next++]);
    }
    const std::string path = relative.empty() ? root_.path : absl::StrCat(root_.path, "/", relative);
    if (next == parts_.size()) {
      const absl::StatusOr<storage::StoredName> found = storage_->StatAndWait(path);
      if (absl::IsNotFound(found.status())) return absl::OkStatus();
      if (!found.ok()) return found.status();
      if (found->kind == storage::StoredEntry::Kind::kFile) Add(relative, found->info);
      return absl::OkStatus();
    }
    if (storage_->IsLocal(path)) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, "/", parts_[next], ": which bucket? Its name takes no wildcard"));
    }
    PS_ASSIGN_OR_RETURN(const std::vector<storage::StoredEntry> entries, storage_->ListAndWait(path));
    for (const storage::StoredEntry& entry : entries) {
      if (fnmatch(parts_[next].c_str(), entry.name.c_str(), FNM_PERIOD) != 0) continue;
      const std::string below = absl::StrCat(relative, relative.empty() ? "" : "/", entry.name);
      const bool last = next + 1 == parts_.size();
      if (entry.kind == storage::StoredEntry::Kind::kFolder) {
        if (!last) PS_RETURN_IF_ERROR(Walk(below, next + 1));
      } else if (last) {
        Add(below, entry.info);
      }
    }
    return absl::OkStatus();
  }

 private:
  void Add(const std::string& relative, std::optional<FileInfo> info) {
    if (relative.empty() || !IsShard(relative)) return;
    files_->push_back({.root = root_.name,
                       .relative_path = relative,
                       .path = absl::StrCat(root_.path, "/", relative),
                       .info = std::move(info)});
  }

  storage::Storage* const storage_;
  const DataRoot& root_;
  const std::vector<std::string>& parts_;
  std::vector<DatasetFile>* const files_;
};

}  // namespace

absl::Status ExpandObjects(storage::Storage* storage, const DataRoot& root, const std::vector<std::string>& parts,
                           std::vector<DatasetFile>* files) {
  return ObjectExpander(storage, root, parts, files).Walk("", 0);
}

}  // namespace penstock::sources
