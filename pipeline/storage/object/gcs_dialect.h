// Google Cloud Storage, by its JSON API.
// https://cloud.google.com/storage/docs/json_api/v1
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_GCS_DIALECT_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_GCS_DIALECT_H_

#include <string>
#include <utility>
#include <vector>

#include "pipeline/storage/object/bearer_token.h"
#include "pipeline/storage/object/object_dialect.h"
#include "pipeline/storage/object/surroundings.h"

namespace penstock {

struct GcsOptions {
  std::string endpoint = "https://storage.googleapis.com";
  bool is_signed = true;  // false: requests hold no token, as of public buckets and emulators
  std::string project;    // that pays for requests; empty: the bucket's

  // STORAGE_EMULATOR_HOST, PENSTOCK_GCS_UNSIGNED=1, GOOGLE_CLOUD_QUOTA_PROJECT.
  static GcsOptions FromEnvironment(const Surroundings& surroundings);
};

// A state's tag is the generation.
class GcsDialect final : public ObjectDialect {
 public:
  // `tokens` lives as long.
  GcsDialect(GcsOptions options, TokenSource* tokens) : options_(std::move(options)), tokens_(tokens) {}

  void Prepare(const ObjectName& name, CallDone<bool> done) override;
  HttpRequest Head(const ObjectName& name) override;
  HttpRequest Range(const ObjectName& name, const FileInfo& state, uint64_t offset, uint64_t length) override;
  absl::StatusOr<HttpRequest> List(const ObjectName& name, const std::string& page, size_t most) override;
  absl::StatusOr<FileInfo> StateOf(const ObjectName& name, const HttpResponse& response) override;
  absl::StatusOr<ObjectPage> PageOf(const ObjectName& name, const HttpResponse& response) override;
  ObjectError ErrorOf(const ObjectName& name, const HttpResponse& response) override;

  // Of the bucket's objects ("": all), with a query; `api` is what stands before the bucket in the path.
  HttpRequest Request(const std::string& api, const ObjectName& name, const std::string& key,
                      const std::vector<std::pair<std::string, std::string>>& query);

 private:
  const GcsOptions options_;
  TokenSource* const tokens_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_GCS_DIALECT_H_
