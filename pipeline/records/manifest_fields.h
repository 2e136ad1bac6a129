// The fields of a manifest's rows that name files.
#ifndef PENSTOCK_PIPELINE_RECORDS_MANIFEST_FIELDS_H_
#define PENSTOCK_PIPELINE_RECORDS_MANIFEST_FIELDS_H_

#include <memory>
#include <string>

#include "pipeline/sources/manifest/row_files.h"

namespace penstock::records {

// Names of fields, as a job's Manifest has them.
struct ManifestFields {
  std::string file = {};    // empty: the first of the usual names that a row has
  std::string offset = {};  // empty: 0
  std::string length = {};  // empty: up to the end of the file
};

// Returns the finder of these fields. A field that no row can have is an error of each row.
std::shared_ptr<const sources::RowFiles> RowFilesOf(const ManifestFields& fields);

}  // namespace penstock::records

#endif  // PENSTOCK_PIPELINE_RECORDS_MANIFEST_FIELDS_H_
