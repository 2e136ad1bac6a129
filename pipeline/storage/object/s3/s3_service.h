// S3 and compatible storages as a service.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_S3_S3_SERVICE_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_S3_S3_SERVICE_H_

#include <memory>

#include "pipeline/storage/object/common/environment.h"
#include "pipeline/storage/object/common/http_client.h"
#include "pipeline/storage/object/common/object_service.h"
#include "pipeline/storage/object/s3/s3_dialect.h"

namespace penstock::storage {

// Looks up keys in `environment` and fetches them through `http`. The service must outlive the requests of `http`.
std::unique_ptr<ObjectService> MakeS3Service(S3Options options, Environment environment, HttpClient* http);

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_S3_S3_SERVICE_H_
