// Manifests of folders of images.
#ifndef PENSTOCK_PIPELINE_IMPORT_FOLDER_MANIFEST_H_
#define PENSTOCK_PIPELINE_IMPORT_FOLDER_MANIFEST_H_

#include <string>

#include "absl/status/statusor.h"
#include "pipeline/import/file_set.h"
#include "pipeline/storage/storage.h"

namespace penstock::imports {

// Returns whether most files of the folder are images, or it has no files but folders with images. `folder` is
// absolute, or in a bucket. Looks at some files only. Returns the errors of the storage.
absl::StatusOr<bool> HasImages(storage::Storage* storage, const std::string& folder);

// Returns a CSV text with the columns "file", and "label" and "class" if the files have them. A row for each file, in
// the order of the set. Names are relative to `folder` if the files are in it, otherwise absolute.
std::string ManifestText(const FileSet& files, const std::string& folder);

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_FOLDER_MANIFEST_H_
