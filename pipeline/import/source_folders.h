// Folders that an import looks for files in: of this machine, or of a bucket.
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
#include "pipeline/storage/object/object_storage.h"

namespace penstock {

// Folders nested deeper are refused: a link may lead to its own parent.
constexpr int kMaxFolderDepth = 16;

struct FoundFile {
  std::string name;  // below the folder that was asked for
  FileInfo info;     // of objects
};

// Names that begin with a dot are not looked at; all are sorted by bytes.
class SourceFolders {
 public:
  static std::unique_ptr<SourceFolders> OfThisMachine();
  // Of a bucket; `storage` lives as long.
  static std::unique_ptr<SourceFolders> OfObjects(ObjectStorage* storage);
  virtual ~SourceFolders() = default;

  struct Listing {
    std::vector<std::string> folders;
    std::vector<FoundFile> files;
  };
  // NotFound: there is no such folder.
  virtual absl::StatusOr<Listing> List(const std::string& folder) = 0;
  // So many folders are worth asking for in one call of FilesBelow.
  virtual size_t at_once() const { return 1; }
  // All files below each of `folders`, however deep.
  virtual absl::StatusOr<std::vector<std::vector<FoundFile>>> FilesBelow(const std::vector<std::string>& folders) = 0;
  // By their first bytes, which files of `folder` are images, or cannot be read.
  virtual std::vector<bool> MayBeImages(const std::string& folder, const std::vector<FoundFile>& files) = 0;
  // Whether one of them is an image, as far as is found out soon.
  virtual bool HasImage(const std::string& folder, const std::vector<FoundFile>& files) = 0;
};

// Of each object the state that it is in, or why there is none.
std::vector<absl::StatusOr<FileInfo>> StatesOf(ObjectStorage* storage, const std::vector<std::string>& names);
// By their first bytes, which of the objects are images, or cannot be read.
std::vector<bool> MayBeImageObjects(ObjectStorage* storage, const std::vector<std::string>& names,
                                    const std::vector<absl::StatusOr<FileInfo>>& states);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMPORT_SOURCE_FOLDERS_H_
