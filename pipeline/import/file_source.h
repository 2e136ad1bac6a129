// Image files as records, with ImageNet's keys: image/encoded, image/class/label (if the files are labeled),
// image/class/text (if known), image/filename, image/format, image/height, image/width.
#ifndef PENSTOCK_PIPELINE_IMPORT_FILE_SOURCE_H_
#define PENSTOCK_PIPELINE_IMPORT_FILE_SOURCE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "pipeline/import/file_set.h"
#include "pipeline/import/image_preparer.h"
#include "pipeline/import/record_source.h"

namespace penstock::imports {

// Makes a source whose item i is file i. With `skip_bad` the makers report unreadable files one by one. Otherwise, if
// files.unreadable() is not 0, returns NotFound with that number and the error of the first.
absl::StatusOr<std::unique_ptr<RecordSource>> NewFileSource(FileSet files, const PrepareOptions& prepare,
                                                            bool skip_bad);

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_FILE_SOURCE_H_
