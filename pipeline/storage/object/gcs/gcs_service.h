// Google Cloud Storage as a service.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_GCS_GCS_SERVICE_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_GCS_GCS_SERVICE_H_

#include <memory>

#include "pipeline/storage/object/common/environment.h"
#include "pipeline/storage/object/common/http_client.h"
#include "pipeline/storage/object/common/object_service.h"
#include "pipeline/storage/object/gcs/gcs_dialect.h"

namespace penstock::storage {

// Looks up tokens in `environment` and fetches them through `http`. The service must outlive the requests of `http`.
std::unique_ptr<ObjectService> MakeGcsService(GcsOptions options, Environment environment, HttpClient* http);

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_GCS_GCS_SERVICE_H_
