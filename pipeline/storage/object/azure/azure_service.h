// Azure Blob Storage as an ObjectService.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_AZURE_SERVICE_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_AZURE_SERVICE_H_

#include <memory>

#include "pipeline/storage/object/common/environment.h"
#include "pipeline/storage/object/common/http_client.h"
#include "pipeline/storage/object/common/object_service.h"

namespace penstock::storage {

// Creates the service for the account that `environment` names. The service fetches tokens through `http`. `http` must
// outlive the service, and the service must outlive the requests that it sends through `http`.
std::unique_ptr<ObjectService> MakeAzureService(const Environment& environment, HttpClient* http);

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_AZURE_SERVICE_H_
