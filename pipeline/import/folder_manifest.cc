#include "pipeline/import/folder_manifest.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "pipeline/import/source_folders.h"

namespace penstock::imports {
namespace {

// Folders of a folder in which HasImages() looks for images.
constexpr size_t kFoldersToTry = 4;
// Files of a folder of which more than half are images.
constexpr std::ptrdiff_t kFilesToTry = 64;

void AppendField(std::string_view field, std::string* out) {
  if (field.find_first_of(",\"\r\n\t") == std::string_view::npos) {
    out->append(field);
    return;
  }
  out->push_back('"');
  for (const char c : field) {
    if (c == '"') out->push_back('"');
    out->push_back(c);
  }
  out->push_back('"');
}

}  // namespace

absl::StatusOr<bool> HasImages(storage::Storage* storage, const std::string& folder) {
  const std::unique_ptr<SourceFolders> folders =
      storage->IsLocal(folder) ? SourceFolders::OfThisMachine() : SourceFolders::OfObjects(storage);
  PS_ASSIGN_OR_RETURN(const SourceFolders::Listing top, folders->List(folder));
  if (!top.files.empty()) {
    const std::vector<FoundFile> some(top.files.begin(),
                                      top.files.begin() + std::min<std::ptrdiff_t>(std::ssize(top.files), kFilesToTry));
    const std::vector<bool> may = folders->MayBeImages(folder, some);
    return 2 * std::count(may.begin(), may.end(), true) > std::ssize(may);
  }
  for (size_t i = 0; i < std::min(top.folders.size(), kFoldersToTry); ++i) {
    std::string below = absl::StrCat(folder, "/", top.folders[i]);
    for (int depth = 1; depth < kMaxFolderDepth; ++depth) {
      PS_ASSIGN_OR_RETURN(const SourceFolders::Listing listing, folders->List(below));
      if (folders->HasImage(below, listing.files)) return true;
      if (!listing.files.empty() || listing.folders.empty()) break;
      absl::StrAppend(&below, "/", listing.folders[0]);
    }
  }
  return false;
}

std::string ManifestText(const FileSet& files, const std::string& folder) {
  const std::string prefix = folder == "/" ? "/" : folder + "/";
  std::string text = files.labeled() ? "file,label,class\n" : "file\n";
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string path = files.path(i);
    AppendField(path.starts_with(prefix) ? std::string_view(path).substr(prefix.size()) : path, &text);
    if (files.labeled()) {
      absl::StrAppend(&text, ",", files.label(i), ",");
      AppendField(files.class_name(i), &text);
    }
    text.push_back('\n');
  }
  return text;
}

}  // namespace penstock::imports
