// Globs below a data root of objects ("s3://bucket/folder"). Internal to sources; see dataset_files.h.
#ifndef PENSTOCK_PIPELINE_SOURCES_OBJECT_FILES_H_
#define PENSTOCK_PIPELINE_SOURCES_OBJECT_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "pipeline/sources/dataset_files.h"

namespace penstock::sources {

// Returns whether a component of a glob has a wildcard or an escape.
inline bool HasWildcard(const std::string& part) { return part.find_first_of("*?[\\") != std::string::npos; }

// Appends the objects below `root` that the glob's components match, except sidecars and temporary files. Lists a
// folder only if the next component has a wildcard. Requests a path without further wildcards by its name.
//   Unimplemented    a wildcard, but the storage cannot list (HTTP)
//   InvalidArgument  a wildcard in the name of a bucket
//   others           from the storage
absl::Status ExpandObjects(storage::Storage* storage, const DataRoot& root, const std::vector<std::string>& parts,
                           std::vector<DatasetFile>* files);

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_OBJECT_FILES_H_
