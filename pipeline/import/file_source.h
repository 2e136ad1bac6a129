// Image files as records, with ImageNet's keys: image/encoded, image/class/label, image/class/text (where known),
// image/filename, image/format, image/height, image/width.
#ifndef PENSTOCK_PIPELINE_IMPORT_FILE_SOURCE_H_
#define PENSTOCK_PIPELINE_IMPORT_FILE_SOURCE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "pipeline/import/file_set.h"
#include "pipeline/import/image_preparer.h"
#include "pipeline/import/record_source.h"

namespace penstock {

// Item i is file i. With `skip_bad` unreadable files are left for the makers to report one by one; else NotFound says
// how many there are and names the first.
absl::StatusOr<std::unique_ptr<RecordSource>> NewFileSource(FileSet files, const PrepareOptions& prepare,
                                                            bool skip_bad);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMPORT_FILE_SOURCE_H_
