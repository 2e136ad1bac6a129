// Google Cloud Storage, by its JSON API.
// https://cloud.google.com/storage/docs/json_api/v1
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_GCS_GCS_DIALECT_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_GCS_GCS_DIALECT_H_

#include <string>
#include <utility>
#include <vector>

#include "pipeline/storage/object/common/bearer_token.h"
#include "pipeline/storage/object/common/environment.h"
#include "pipeline/storage/object/common/object_dialect.h"

namespace penstock::storage {

struct GcsOptions {
  std::string endpoint = "https://storage.googleapis.com";
  bool is_signed = true;  // false: requests carry no token, as for public buckets and emulators
  std::string project;    // project that pays for requests; empty: the bucket's

  // Reads STORAGE_EMULATOR_HOST, CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE, PENSTOCK_GCS_UNSIGNED=1 and
  // GOOGLE_CLOUD_QUOTA_PROJECT.
  static GcsOptions FromEnvironment(const Environment& environment);
};

// A state's tag is the generation.
class GcsDialect final : public ObjectDialect {
 public:
  // `tokens` must outlive this object.
  GcsDialect(GcsOptions options, TokenSource* tokens) : options_(std::move(options)), tokens_(tokens) {}

  void Prepare(const ObjectName& name, CallDone<bool> done) override;
  HttpRequest Head(const ObjectName& name) override;
  HttpRequest Range(const ObjectName& name, const FileInfo& state, uint64_t offset, uint64_t length) override;
  absl::StatusOr<HttpRequest> List(const ObjectName& name, const std::string& page, size_t most) override;
  absl::StatusOr<FileInfo> StateOf(const ObjectName& name, const HttpResponse& response) override;
  absl::StatusOr<ObjectPage> PageOf(const ObjectName& name, const HttpResponse& response) override;
  ObjectError ErrorOf(const ObjectName& name, const HttpResponse& response) override;

  // Makes a request for an object of the bucket, or for the bucket's objects if `key` is "". `api` is the path before
  // the bucket.
  HttpRequest Request(const std::string& api, const ObjectName& name, const std::string& key,
                      const std::vector<std::pair<std::string, std::string>>& query);

 private:
  const GcsOptions options_;
  TokenSource* const tokens_;
};

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_GCS_GCS_DIALECT_H_
