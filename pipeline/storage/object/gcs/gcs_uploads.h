// Writes to Google Cloud Storage: simple and resumable uploads.
// https://cloud.google.com/storage/docs/performing-resumable-uploads
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_GCS_GCS_UPLOADS_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_GCS_GCS_UPLOADS_H_

#include <memory>

#include "pipeline/storage/object/common/object_uploads.h"
#include "pipeline/storage/object/gcs/gcs_dialect.h"

namespace penstock::storage {

// `gcs` must outlive the result.
std::unique_ptr<ObjectUploads> MakeGcsUploads(GcsDialect* gcs);

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_GCS_GCS_UPLOADS_H_
