// Writes to Azure Blob Storage: block blobs, in one request or in blocks that a final list joins.
// https://learn.microsoft.com/en-us/rest/api/storageservices/put-block-list
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_AZURE_UPLOADS_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_AZURE_UPLOADS_H_

#include <memory>

#include "pipeline/storage/object/azure/azure_dialect.h"
#include "pipeline/storage/object/common/object_uploads.h"

namespace penstock::storage {

// `azure` must outlive the result.
std::unique_ptr<ObjectUploads> MakeAzureUploads(AzureDialect* azure);

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_AZURE_UPLOADS_H_
