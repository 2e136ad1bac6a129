// Folders of an import's source files, local or in a bucket.
#ifndef PENSTOCK_PIPELINE_IMPORT_SOURCE_FOLDERS_H_
#define PENSTOCK_PIPELINE_IMPORT_SOURCE_FOLDERS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "pipeline/storage/storage.h"

namespace penstock::imports {

// Folders nested deeper are rejected, because a link may point to its own parent.
constexpr int kMaxFolderDepth = 16;

struct FoundFile {
  std::string name;  // path relative to the requested folder
  FileInfo info;     // only for objects
};

// Ignores names with a leading dot. All lists of names are sorted by bytes.
class SourceFolders {
 public:
  static std::unique_ptr<SourceFolders> OfThisMachine();
  // Returns the folders in a bucket. `storage` must outlive the result.
  static std::unique_ptr<SourceFolders> OfObjects(storage::Storage* storage);
  virtual ~SourceFolders() = default;

  struct Listing {
    std::vector<std::string> folders;
    std::vector<FoundFile> files;
  };
  // Lists a folder. NotFound: the folder does not exist.
  virtual absl::StatusOr<Listing> List(const std::string& folder) = 0;
  // Returns the number of folders to request in one call of FilesBelow().
  virtual size_t at_once() const { return 1; }
  // Returns all files below each of `folders`. InvalidArgument: folders are nested deeper than kMaxFolderDepth.
  virtual absl::StatusOr<std::vector<std::vector<FoundFile>>> FilesBelow(const std::vector<std::string>& folders) = 0;
  // Returns which files of `folder` are images by their first bytes, or unreadable.
  virtual std::vector<bool> MayBeImages(const std::string& folder, const std::vector<FoundFile>& files) = 0;
  // Returns whether one of the files is an image, or unreadable. In a bucket it checks names, and the content of only
  // some files.
  virtual bool HasImage(const std::string& folder, const std::vector<FoundFile>& files) = 0;
};

// Returns the state of each object, or the error.
std::vector<absl::StatusOr<FileInfo>> StatesOf(storage::Storage* storage, const std::vector<std::string>& names);
// Returns which objects are images by their first bytes, or unreadable.
std::vector<bool> MayBeImageObjects(storage::Storage* storage, const std::vector<std::string>& names,
                                    const std::vector<absl::StatusOr<FileInfo>>& states);

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_SOURCE_FOLDERS_H_
