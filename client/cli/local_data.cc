#include "client/cli/local_data.h"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/foreign_data.h"
#include "base/status_macros.h"
#include "base/url.h"
#include "client/cli/command.h"
#include "pipeline/import/shard_state.h"
#include "pipeline/sources/file_access.h"
#include "pipeline/sources/index_job.h"

namespace penstock::cli {

void LocalData::AddFlags(config::Flags* flags, bool windows) {
  flags->AddStrings("data-root", &roots_, "[NAME=]DIR",
                    "globs are relative to this folder and confined to it, as on a worker; may be repeated");
  flags->AddString("index-dir", &index_dir_, "DIR", "where shard indexes are kept (default: ~/.cache/penstock)");
  flags->AddSwitch("index-beside", &beside_, "keep the indexes beside the shards instead");
  flags->AddString("source", &source_, "KIND",
                   "kind of the files of a glob: TFRECORD, TAR, JSONL, NPY, TEXT, CSV, TSV, UINT16, UINT32, INT32, "
                   "MEGATRON or MANIFEST (default: by their content, which shows only the first four)");
  flags->AddString("manifest", &manifest_, "FILE[:OFFSET:LENGTH]",
                   "for the rows of a glob, which name files: the fields with the name, and with the part of the file; "
                   "implies --source MANIFEST");
  if (!windows) return;
  flags->AddString("window", &window_, "SIZE[:STRIDE]",
                   "for the arrays of a glob: a record has SIZE rows, and the next one begins STRIDE rows later "
                   "(default: SIZE); end=NUMBER: a record ends with this number");
}

absl::StatusOr<v1::Source::Kind> LocalData::Source() const {
  v1::Source::Kind kind = v1::Source::AUTO;
  if (source_.empty() && !manifest_.empty()) return v1::Source::MANIFEST;
  if (source_.empty() || v1::Source::Kind_Parse(source_, &kind)) return kind;
  return UsageError(absl::StrCat(
      "--source: '", source_,
      "' is none of TFRECORD, TAR, JSONL, NPY, TEXT, CSV, TSV, UINT16, UINT32, INT32, MEGATRON, MANIFEST"));
}

absl::StatusOr<v1::Window> LocalData::Window() const {
  v1::Window window;
  if (window_.empty()) return window;
  if (absl::string_view number = window_; absl::ConsumePrefix(&number, "end=")) {
    int64_t end = 0;
    if (!absl::SimpleAtoi(number, &end)) {
      return UsageError(absl::StrCat("--window: '", window_, "' has no integer after `end=`, such as end=50256"));
    }
    window.set_end(end);
    return window;
  }
  const std::pair<std::string, std::string> parts = absl::StrSplit(window_, absl::MaxSplits(':', 1));
  const bool has_stride = absl::StrContains(window_, ':');
  uint64_t size = 0, stride = 0;
  if (!absl::SimpleAtoi(parts.first, &size) || size == 0 || size > INT32_MAX ||
      (has_stride && (!absl::SimpleAtoi(parts.second, &stride) || stride == 0 || stride > INT32_MAX))) {
    return UsageError(
        absl::StrCat("--window: '", window_, "' is not SIZE, SIZE:STRIDE or end=NUMBER, such as 1025:1024"));
  }
  window.set_size(size);
  window.set_stride(stride);
  return window;
}

absl::StatusOr<v1::Manifest> LocalData::Manifest() const {
  v1::Manifest manifest;
  if (manifest_.empty()) return manifest;
  const std::vector<std::string> fields = absl::StrSplit(manifest_, ':');
  if (fields[0].empty() || (fields.size() != 1 && fields.size() != 3)) {
    return UsageError(
        absl::StrCat("--manifest: '", manifest_, "' is not FILE or FILE:OFFSET:LENGTH, such as image_path"));
  }
  if (source_ != "" && source_ != "MANIFEST") {
    return UsageError(absl::StrCat("--manifest is for --source MANIFEST, not for ", source_));
  }
  manifest.set_file(fields[0]);
  if (fields.size() == 3) {
    manifest.set_offset(fields[1]);
    manifest.set_length(fields[2]);
  }
  return manifest;
}

absl::StatusOr<sources::IndexOptions> LocalData::IndexOptions() const {
  PS_ASSIGN_OR_RETURN(const v1::Source::Kind source, Source());
  PS_ASSIGN_OR_RETURN(const v1::Window window, Window());
  if (!sources::NumberTypeOf(source).empty() && window.size() == 0 && !window.has_end()) {
    return UsageError(absl::StrCat("--source ", source_, " needs --window SIZE[:STRIDE], such as --window 1025:1024"));
  }
  PS_ASSIGN_OR_RETURN(const v1::Manifest manifest, Manifest());
  PS_ASSIGN_OR_RETURN(std::vector<sources::DataRoot> roots, Roots());
  sources::IndexOptions options = sources::IndexOptionsOf(v1::Dataset::AUTO, source, 0, window, manifest);
  options.files = sources::AccessTo(storage_, std::move(roots));
  return options;
}

absl::Status LocalData::CheckNoSource(const std::string& path) const {
  if (!window_.empty()) {
    return UsageError(absl::StrCat("--window is for globs; write dataset { window { size: N } } into ", path));
  }
  if (!manifest_.empty()) {
    return UsageError(
        absl::StrCat("--manifest is for globs; write dataset { manifest { file: \"NAME\" } } into ", path));
  }
  if (source_.empty()) return absl::OkStatus();
  return UsageError(absl::StrCat("--source is for globs; write dataset { source: ", source_, " } into ", path));
}

absl::StatusOr<std::vector<sources::DataRoot>> LocalData::Roots() const {
  if (roots_.empty()) {
    std::vector<sources::DataRoot> roots = {{"local", "/"}};
    for (const std::string& scheme : storage_->Schemes()) roots.push_back({scheme, scheme + ":/"});
    return roots;
  }
  return sources::ParseDataRoots(storage(), roots_);
}

std::string LocalData::Resolve(const std::string& given) const {
  const std::string glob = WithoutFileScheme(given);
  if (!roots_.empty() || glob.empty() || glob.front() == '/' || glob.find("://") != std::string::npos) return glob;
  return (std::filesystem::current_path() / glob).lexically_normal().string();
}

void LocalData::ResolveJob(v1::JobSpec* job) const {
  for (v1::Dataset& dataset : *job->mutable_dataset()) {
    for (std::string& glob : *dataset.mutable_files()) glob = Resolve(glob);
  }
}

absl::StatusOr<std::string> LocalData::FolderOf(std::string glob) const {
  PS_ASSIGN_OR_RETURN(const std::vector<sources::DataRoot> roots, Roots());
  // Use the same form as ExpandGlobs.
  glob = WithoutFileScheme(glob);
  std::vector<std::string> candidates = {Resolve(glob)};
  if (!roots_.empty() && (glob.empty() || (glob.front() != '/' && storage_->IsLocal(glob)))) {
    for (const sources::DataRoot& root : roots) candidates.push_back(absl::StrCat(root.path, "/", glob));
  }
  for (std::string& folder : candidates) {
    // Files of a web server are always named individually.
    if (storage_->IsLocal(folder) ? !absl::StartsWith(folder, "/") : !storage_->HasFolders(folder)) continue;
    const auto found = storage_->StatAndWait(folder);
    if (!found.ok() || found->kind != storage::StoredEntry::Kind::kFolder) continue;
    while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
    return std::move(folder);
  }
  return "";
}

absl::StatusOr<std::string> LocalData::FilesOf(std::string glob) const {
  PS_ASSIGN_OR_RETURN(const std::string folder, FolderOf(glob));
  glob = WithoutFileScheme(glob);
  if (folder.empty()) return glob;
  while (glob.size() > 1 && glob.back() == '/') glob.pop_back();
  if (const std::string_view kind = storage_->IsLocal(folder) ? ConvertibleFolder(folder) : ""; !kind.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(folder, ": this is ", std::string(kind), "; ", ConvertHint(folder)));
  }
  // A folder that import or bake wrote holds labels and jobs in addition to its shards.
  const bool ours = storage_->StatAndWait(absl::StrCat(folder, "/", std::string(imports::kShardStateName))).ok();
  return absl::StrCat(glob, ours ? "/*.tfrecord" : "/*");
}

absl::StatusOr<std::vector<sources::DatasetFile>> LocalData::Expand(const std::string& glob) const {
  PS_ASSIGN_OR_RETURN(const std::vector<sources::DataRoot> roots, Roots());
  PS_ASSIGN_OR_RETURN(const std::string files, FilesOf(glob));
  return sources::ExpandGlobs(storage(), {Resolve(files)}, roots);
}

absl::StatusOr<std::string> LocalData::IndexDir() const {
  std::string dir = index_dir_;
  if (dir.empty()) {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    if (cache != nullptr && *cache != '\0') {
      dir = absl::StrCat(cache, "/penstock");
    } else if (home != nullptr && *home != '\0') {
      dir = absl::StrCat(home, "/.cache/penstock");
    } else {
      return absl::FailedPreconditionError("neither HOME nor XDG_CACHE_HOME is set: give --index-dir DIR");
    }
  }
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) return ErrnoStatus(error.value(), absl::StrCat("creating ", dir));
  return dir;
}

absl::StatusOr<sources::IndexStore> LocalData::Indexes(storage::Storage* storage) const {
  if (beside_) return sources::IndexStore::BesideShards(storage);
  PS_ASSIGN_OR_RETURN(const std::string dir, IndexDir());
  return sources::IndexStore::InStateDir(storage, dir);
}

}  // namespace penstock::cli
