// Globs below a data root of objects ("s3://bucket/folder"). Internal to records/; see dataset_files.h.
#ifndef PENSTOCK_PIPELINE_RECORDS_OBJECT_FILES_H_
#define PENSTOCK_PIPELINE_RECORDS_OBJECT_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "pipeline/records/dataset_files.h"

namespace penstock {

// Appends the objects that the glob's components match below `root`. Folders are listed where a component has a
// wildcard, and nowhere else: of what has a name the storage is asked by it.
//   Unimplemented   a wildcard where the storage cannot list (HTTP)
absl::Status ExpandObjects(const DataRoot& root, const std::vector<std::string>& parts,
                           std::vector<DatasetFile>* files);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_RECORDS_OBJECT_FILES_H_
