// Azure Blob Storage as a service.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_AZURE_SERVICE_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_AZURE_SERVICE_H_

#include <memory>

#include "pipeline/storage/object/common/environment.h"
#include "pipeline/storage/object/common/http_client.h"
#include "pipeline/storage/object/common/object_service.h"

namespace penstock::storage {

// Looks up the account in `environment` and fetches tokens through `http`. The service must outlive the requests of
// `http`.
std::unique_ptr<ObjectService> MakeAzureService(const Environment& environment, HttpClient* http);

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_AZURE_SERVICE_H_
