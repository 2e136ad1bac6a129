#include "pipeline/import/file_set.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace penstock::imports {

void FileSet::Add(std::string_view name, int64_t label, uint32_t class_number) {
  struct stat st {};
  std::string fault;
  const std::string file = PathOf(name, class_number);
  if (stat(file.c_str(), &st) != 0) {
    fault = absl::StrCat(file, ": ", std::strerror(errno));
  } else if (!S_ISREG(st.st_mode)) {
    fault = absl::StrCat(file, " is not a file");
  }
  FileInfo info;
  if (fault.empty()) {
    info.size = static_cast<uint64_t>(st.st_size);
    info.mtime_ns = int64_t{st.st_mtim.tv_sec} * 1'000'000'000 + st.st_mtim.tv_nsec;
  }
  AddEntry(name, label, class_number, info, fault);
}

void FileSet::AddObject(std::string_view name, int64_t label, uint32_t class_number,
                        const absl::StatusOr<FileInfo>& state) {
  AddEntry(name, label, class_number, state.ok() ? *state : FileInfo(), std::string(state.status().message()));
  // Fills up for preceding entries that are not objects.
  objects_.resize(entries_.size() - 1, {.size = kNoObject, .tag_end = tags_.size()});
  if (state.ok()) tags_ += state->tag;
  objects_.push_back({.size = state.ok() ? state->size : kNotThere, .tag_end = tags_.size()});
}

void FileSet::AddEntry(std::string_view name, int64_t label, uint32_t class_number, const FileInfo& info,
                       const std::string& fault) {
  names_ += name;
  entries_.push_back({names_.size(), label, class_number});
  if (!fault.empty() && unreadable_++ == 0) first_unreadable_ = fault;
  bytes_ += info.size;
  fingerprint_.Add(name)
      .Add(static_cast<uint64_t>(label))
      .Add(class_name(entries_.size() - 1))
      .Add(info.size)
      .Add(static_cast<uint64_t>(info.mtime_ns));
  if (!info.tag.empty()) fingerprint_.Add(info.tag);
}

std::optional<FileInfo> FileSet::state(size_t i) const {
  if (!is_object(i) || objects_[i].size == kNotThere) return std::nullopt;
  const uint64_t begin = i == 0 ? 0 : objects_[i - 1].tag_end;
  return FileInfo{.size = objects_[i].size, .tag = tags_.substr(begin, objects_[i].tag_end - begin)};
}

std::string_view FileSet::name(size_t i) const {
  const uint64_t begin = i == 0 ? 0 : entries_[i - 1].name_end;
  return std::string_view(names_).substr(begin, entries_[i].name_end - begin);
}

std::string FileSet::path(size_t i) const { return PathOf(name(i), entries_[i].class_number); }

std::string FileSet::PathOf(std::string_view name, uint32_t class_number) const {
  const std::string file(name);
  if (layout_ == Layout::kClassFolders) return absl::StrCat(folder_, "/", classes_[class_number], "/", file);
  return (!file.empty() && file[0] == '/') || !storage_->IsLocal(file) ? file : folder_ + "/" + file;
}

}  // namespace penstock::imports
