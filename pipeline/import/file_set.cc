#include "pipeline/import/file_set.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace penstock {

void FileSet::Add(std::string_view name, int64_t label, uint32_t class_number) {
  names_ += name;
  entries_.push_back({names_.size(), label, class_number});
  const std::string file = path(entries_.size() - 1);
  struct stat st {};
  std::string fault;
  if (stat(file.c_str(), &st) != 0) {
    fault = absl::StrCat(file, ": ", std::strerror(errno));
  } else if (!S_ISREG(st.st_mode)) {
    fault = absl::StrCat(file, " is not a file");
  }
  if (!fault.empty()) {
    st = {};
    if (unreadable_++ == 0) first_unreadable_ = fault;
  }
  bytes_ += static_cast<uint64_t>(st.st_size);
  fingerprint_.Add(name)
      .Add(static_cast<uint64_t>(label))
      .Add(class_name(entries_.size() - 1))
      .Add(static_cast<uint64_t>(st.st_size))
      .Add(static_cast<uint64_t>(int64_t{st.st_mtim.tv_sec} * 1'000'000'000 + st.st_mtim.tv_nsec));
}

std::string_view FileSet::name(size_t i) const {
  const uint64_t begin = i == 0 ? 0 : entries_[i - 1].name_end;
  return std::string_view(names_).substr(begin, entries_[i].name_end - begin);
}

std::string FileSet::path(size_t i) const {
  const std::string file(name(i));
  if (layout_ == Layout::kClassFolders) return absl::StrCat(folder_, "/", std::string(class_name(i)), "/", file);
  return !file.empty() && file[0] == '/' ? file : folder_ + "/" + file;
}

}  // namespace penstock
