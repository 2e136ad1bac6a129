// Finding the files of an import: class folders and lists.
#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "pipeline/import/file_set.h"
#include "pipeline/import/image_start.h"
#include "pipeline/import/list_line.h"

namespace penstock {
namespace {

constexpr int kMaxDepth = 16;

// What a folder holds, names sorted by bytes; links are followed.
struct Listing {
  std::vector<std::string> folders, others;
};

absl::StatusOr<Listing> List(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(path.c_str()), closedir);
  if (dir == nullptr) return ErrnoStatus(errno, absl::StrCat("listing the folder ", path));
  Listing listing;
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(dir.get());
    if (entry == nullptr) {
      if (errno != 0) return ErrnoStatus(errno, absl::StrCat("listing the folder ", path));
      break;
    }
    const std::string name = entry->d_name;
    if (name[0] == '.') continue;
    bool folder = entry->d_type == DT_DIR;
    if (entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN) {
      struct stat st;
      folder = stat(absl::StrCat(path, "/", name).c_str(), &st) == 0 && S_ISDIR(st.st_mode);
    }
    (folder ? listing.folders : listing.others).push_back(name);
  }
  std::sort(listing.folders.begin(), listing.folders.end());
  std::sort(listing.others.begin(), listing.others.end());
  return listing;
}

// Adds the names of all files below FOLDER/BELOW, as they are below FOLDER.
absl::Status Collect(const std::string& folder, const std::string& below, int depth, std::vector<std::string>* names) {
  const std::string path = below.empty() ? folder : absl::StrCat(folder, "/", below);
  if (depth > kMaxDepth) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": folders are nested more than ", kMaxDepth, " deep; does a link lead to its own parent?"));
  }
  PS_ASSIGN_OR_RETURN(const Listing listing, List(path));
  const std::string prefix = below.empty() ? "" : below + "/";
  for (const std::string& name : listing.others) names->push_back(prefix + name);
  for (const std::string& name : listing.folders) PS_RETURN_IF_ERROR(Collect(folder, prefix + name, depth + 1, names));
  return absl::OkStatus();
}

// Adds the file, or leaves it out as no image.
void AddOrLeaveOut(FileSet* files, bool skip_other, const std::string& path, std::string_view name, int64_t label,
                   uint32_t class_number = FileSet::kNoClass) {
  if (skip_other && !MayBeImageFile(path)) {
    files->LeaveOut(path);
  } else {
    files->Add(name, label, class_number);
  }
}

// The images of a folder that has no class folders.
ClassFolders FlatFolder(const std::string& folder, const std::vector<std::string>& names, bool skip_other) {
  ClassFolders flat{.files = FileSet(folder, FileSet::Layout::kPlain), .labels = {}};
  flat.files.SetUnlabeled();
  for (const std::string& name : names) {
    AddOrLeaveOut(&flat.files, skip_other, absl::StrCat(folder, "/", name), name, 0);
  }
  return flat;
}

}  // namespace

absl::StatusOr<ClassFolders> ListClassFolders(const std::string& folder, const LabelNames* labels, bool skip_other) {
  PS_ASSIGN_OR_RETURN(const Listing top, List(folder));
  const auto is_image = [&](const std::string& name) { return MayBeImageFile(absl::StrCat(folder, "/", name)); };
  if (top.folders.empty() && std::any_of(top.others.begin(), top.others.end(), is_image)) {
    return FlatFolder(folder, top.others, skip_other);
  }
  if (top.folders.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        folder,
        " has no class folders (one folder of images for each class). For images without them give --list FILE "
        "with lines \"path label\"; for TFRecord shards give a glob, such as '",
        folder, "/*'"));
  }
  ClassFolders found{.files = FileSet(folder, FileSet::Layout::kClassFolders), .labels = {}};
  found.stray = top.others.size();
  for (const std::string& name : top.folders) {
    int64_t label = static_cast<int64_t>(found.labels.size());
    if (labels != nullptr) {
      const auto it = labels->find(name);
      if (it == labels->end()) {
        return absl::InvalidArgumentError(
            absl::StrCat("the class folder ", folder, "/", name, " has no number in the file of --labels"));
      }
      label = it->second;
    }
    found.labels[name] = label;
    const uint32_t number = found.files.AddClass(name);
    std::vector<std::string> names;
    PS_RETURN_IF_ERROR(Collect(absl::StrCat(folder, "/", name), "", 0, &names));
    std::sort(names.begin(), names.end());
    if (names.empty()) ++found.empty;
    for (const std::string& file : names) {
      AddOrLeaveOut(&found.files, skip_other, absl::StrCat(folder, "/", name, "/", file), file, label, number);
    }
  }
  if (found.files.size() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the ", top.folders.size(), " class folders of ", folder, " hold no files"));
  }
  return found;
}

absl::StatusOr<FileSet> ReadFileList(const std::string& path, const std::string& root, const LabelNames* labels,
                                     bool skip_other) {
  PS_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path, uint64_t{4} << 30));
  FileSet files(root, FileSet::Layout::kPlain);
  std::map<std::string, uint32_t, std::less<>> classes;
  uint64_t number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (line.find_first_not_of(" \t\r") == absl::string_view::npos) continue;
    const auto bad = [&](const std::string& what) {
      return absl::InvalidArgumentError(absl::StrCat(path, ":", number, ": ", what));
    };
    std::string_view name, word;
    if (!SplitListLine({line.data(), line.size()}, labels, &name, &word)) {
      return bad(absl::StrCat("'", line, "' is not \"path<TAB, space or comma>label\""));
    }
    int64_t label = 0;
    uint32_t class_number = FileSet::kNoClass;
    const auto known = labels == nullptr ? LabelNames::const_iterator() : labels->find(word);
    if (labels != nullptr && known != labels->end()) {
      label = known->second;
      const auto [it, added] = classes.try_emplace(std::string(word), 0);
      if (added) it->second = files.AddClass(it->first);
      class_number = it->second;
    } else if (!absl::SimpleAtoi({word.data(), word.size()}, &label)) {
      return bad(absl::StrCat(
          "'", std::string(word), "' is no number",
          number == 1 && absl::StrContains(line, ",") ? "; if this line names the columns, remove it" : "",
          labels == nullptr ? "; --labels FILE gives names their numbers" : ", and no name in the file of --labels"));
    }
    const std::string file(name);
    AddOrLeaveOut(&files, skip_other, absl::StartsWith(file, "/") ? file : absl::StrCat(root, "/", file), name, label,
                  class_number);
  }
  if (files.size() == 0) return absl::InvalidArgumentError(absl::StrCat(path, " lists no files"));
  return files;
}

}  // namespace penstock
