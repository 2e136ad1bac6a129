// Writes to S3 and compatible storages: PutObject and multipart uploads.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_S3_S3_UPLOADS_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_S3_S3_UPLOADS_H_

#include <memory>

#include "pipeline/storage/object/common/object_uploads.h"
#include "pipeline/storage/object/s3/s3_dialect.h"

namespace penstock::storage {

// `s3` must outlive the result.
std::unique_ptr<ObjectUploads> MakeS3Uploads(S3Dialect* s3);

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_S3_S3_UPLOADS_H_
