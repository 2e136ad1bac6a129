#include "pipeline/import/source_folders.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "pipeline/import/image_start.h"

namespace penstock::imports {
namespace {

class LocalFolders final : public SourceFolders {
 public:
  absl::StatusOr<Listing> List(const std::string& path) override {
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
      if (folder) {
        listing.folders.push_back(name);
      } else {
        listing.files.push_back({name, {}});
      }
    }
    std::sort(listing.folders.begin(), listing.folders.end());
    std::sort(listing.files.begin(), listing.files.end(),
              [](const FoundFile& a, const FoundFile& b) { return a.name < b.name; });
    return listing;
  }

  absl::StatusOr<std::vector<std::vector<FoundFile>>> FilesBelow(const std::vector<std::string>& folders) override {
    std::vector<std::vector<FoundFile>> all;
    for (const std::string& folder : folders) {
      PS_RETURN_IF_ERROR(Collect(folder, "", 0, &all.emplace_back()));
      std::sort(all.back().begin(), all.back().end(),
                [](const FoundFile& a, const FoundFile& b) { return a.name < b.name; });
    }
    return all;
  }

  std::vector<bool> MayBeImages(const std::string& folder, const std::vector<FoundFile>& files) override {
    std::vector<bool> may;
    for (const FoundFile& file : files) may.push_back(MayBeImageFile(absl::StrCat(folder, "/", file.name)));
    return may;
  }

  bool HasImage(const std::string& folder, const std::vector<FoundFile>& files) override {
    return std::any_of(files.begin(), files.end(),
                       [&](const FoundFile& file) { return MayBeImageFile(absl::StrCat(folder, "/", file.name)); });
  }

 private:
  // Adds all files below FOLDER/BELOW, with their paths relative to FOLDER.
  absl::Status Collect(const std::string& folder, const std::string& below, int depth, std::vector<FoundFile>* files) {
    const std::string path = below.empty() ? folder : absl::StrCat(folder, "/", below);
    if (depth > kMaxFolderDepth) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": folders are nested more than ", kMaxFolderDepth,
                                                     " deep; does a link lead to its own parent?"));
    }
    PS_ASSIGN_OR_RETURN(const Listing listing, List(path));
    const std::string prefix = below.empty() ? "" : below + "/";
    for (const FoundFile& file : listing.files) files->push_back({prefix + file.name, {}});
    for (const std::string& name : listing.folders)
      PS_RETURN_IF_ERROR(Collect(folder, prefix + name, depth + 1, files));
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<SourceFolders> SourceFolders::OfThisMachine() { return std::make_unique<LocalFolders>(); }

}  // namespace penstock::imports
