// Finds the files of an import: class folders and lists.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "pipeline/import/file_set.h"
#include "pipeline/import/image_start.h"
#include "pipeline/import/list_line.h"
#include "pipeline/import/source_folders.h"

namespace penstock::imports {
namespace {

// Paths of a list whose states are fetched together.
constexpr size_t kAtOnce = 4096;

// Adds the files that may be images; with `skip_other`, counts the others.
void AddImages(SourceFolders* folders, const std::string& folder, const std::vector<FoundFile>& found, bool skip_other,
               int64_t label, uint32_t class_number, FileSet* files) {
  const std::vector<bool> may =
      skip_other ? folders->MayBeImages(folder, found) : std::vector<bool>(found.size(), true);
  for (size_t i = 0; i < found.size(); ++i) {
    if (!may[i]) {
      files->LeaveOut(absl::StrCat(folder, "/", found[i].name));
    } else if (!files->storage()->IsLocal(folder)) {
      files->AddObject(found[i].name, label, class_number, found[i].info);
    } else {
      files->Add(found[i].name, label, class_number);
    }
  }
}

// A file in a list.
struct Listed {
  std::string name, path;
  int64_t label;
  uint32_t class_number;
};

void AddListed(const std::vector<Listed>& listed, bool skip_other, FileSet* files) {
  storage::Storage* const storage = files->storage();
  std::vector<std::string> names;
  for (const Listed& each : listed) {
    if (!storage->IsLocal(each.path)) names.push_back(each.path);
  }
  std::vector<absl::StatusOr<FileInfo>> states;
  std::vector<bool> may;
  if (!names.empty()) states = StatesOf(storage, names);
  if (!names.empty() && skip_other) may = MayBeImageObjects(storage, names, states);
  size_t next = 0;
  for (const Listed& each : listed) {
    const bool is_object = !storage->IsLocal(each.path);
    const size_t i = is_object ? next++ : 0;
    if (skip_other && !(is_object ? may[i] : MayBeImageFile(each.path))) {
      files->LeaveOut(each.path);
    } else if (is_object) {
      files->AddObject(each.name, each.label, each.class_number, states[i]);
    } else {
      files->Add(each.name, each.label, each.class_number);
    }
  }
}

}  // namespace

absl::StatusOr<ClassFolders> ListClassFolders(storage::Storage* storage, const std::string& folder,
                                              const LabelNames* labels, bool skip_other) {
  if (!storage->HasFolders(folder)) {
    return absl::InvalidArgumentError(absl::StrCat(
        folder, ": a web server does not list its files; name them in a --list FILE, with --root ", folder));
  }
  const std::unique_ptr<SourceFolders> folders =
      storage->IsLocal(folder) ? SourceFolders::OfThisMachine() : SourceFolders::OfObjects(storage);
  PS_ASSIGN_OR_RETURN(const SourceFolders::Listing top, folders->List(folder));
  if (top.folders.empty() && folders->HasImage(folder, top.files)) {
    ClassFolders flat{.files = FileSet(storage, folder, FileSet::Layout::kPlain), .labels = {}};
    flat.files.SetUnlabeled();
    AddImages(folders.get(), folder, top.files, skip_other, 0, FileSet::kNoClass, &flat.files);
    return flat;
  }
  if (top.folders.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        folder,
        " has no class folders (one folder of images for each class). For images without them give --list FILE "
        "with lines \"path label\"; for TFRecord shards give a glob, such as '",
        folder, "/*'"));
  }
  ClassFolders found{.files = FileSet(storage, folder, FileSet::Layout::kClassFolders), .labels = {}};
  found.stray = top.files.size();
  for (size_t first = 0; first < top.folders.size(); first += folders->at_once()) {
    std::vector<std::string> paths;
    for (size_t i = first; i < std::min(first + folders->at_once(), top.folders.size()); ++i) {
      paths.push_back(absl::StrCat(folder, "/", top.folders[i]));
    }
    PS_ASSIGN_OR_RETURN(const auto below, folders->FilesBelow(paths));
    for (size_t i = 0; i < paths.size(); ++i) {
      const std::string& name = top.folders[first + i];
      int64_t label = static_cast<int64_t>(found.labels.size());
      if (labels != nullptr) {
        const auto it = labels->find(name);
        if (it == labels->end()) {
          return absl::InvalidArgumentError(
              absl::StrCat("the class folder ", paths[i], " has no number in the file of --labels"));
        }
        label = it->second;
      }
      found.labels[name] = label;
      const uint32_t number = found.files.AddClass(name);
      if (below[i].empty()) ++found.empty;
      AddImages(folders.get(), paths[i], below[i], skip_other, label, number, &found.files);
    }
  }
  if (found.files.size() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the ", top.folders.size(), " class folders of ", folder, " hold no files"));
  }
  return found;
}

absl::StatusOr<FileSet> ReadFileList(storage::Storage* storage, const std::string& path, const std::string& root,
                                     const LabelNames* labels, bool skip_other) {
  PS_ASSIGN_OR_RETURN(const std::string text, storage::ReadContent(storage, path, uint64_t{4} << 30));
  FileSet files(storage, root, FileSet::Layout::kPlain);
  std::map<std::string, uint32_t, std::less<>> classes;
  uint64_t number = 0;
  std::vector<Listed> listed;
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
    listed.push_back(
        {.name = file,
         .path = absl::StartsWith(file, "/") || !storage->IsLocal(file) ? file : absl::StrCat(root, "/", file),
         .label = label,
         .class_number = class_number});
    if (listed.size() == kAtOnce) {
      AddListed(listed, skip_other, &files);
      listed.clear();
    }
  }
  AddListed(listed, skip_other, &files);
  if (files.size() == 0) return absl::InvalidArgumentError(absl::StrCat(path, " lists no files"));
  return files;
}

}  // namespace penstock::imports
