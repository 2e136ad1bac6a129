// S3 and compatible storages.
// https://docs.aws.amazon.com/AmazonS3/latest/API/Welcome.html
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_S3_S3_DIALECT_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_S3_S3_DIALECT_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "pipeline/storage/object/common/environment.h"
#include "pipeline/storage/object/common/object_dialect.h"
#include "pipeline/storage/object/common/storage_clock.h"
#include "pipeline/storage/object/s3/aws_keys.h"

namespace penstock::storage {

struct S3Options {
  std::string endpoint;  // "https://host[:port]"; empty: AWS's own
  std::string region;    // empty: us-east-1, until a bucket names another
  // Puts the bucket in the path instead of the host's name. FromEnvironment() sets it if it finds an endpoint.
  // Buckets with '.' or '_' in their names are always in the path.
  bool path_style = false;
  bool is_signed = true;         // false: requests carry no signature, as for public buckets
  std::function<int64_t()> now;  // seconds since 1970

  // Reads AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_REGION, AWS_DEFAULT_REGION and PENSTOCK_S3_UNSIGNED=1.
  static S3Options FromEnvironment(const Environment& environment);
};

class S3Dialect final : public ObjectDialect {
 public:
  // `keys` must outlive this object.
  S3Dialect(S3Options options, AwsKeySource* keys);

  void Prepare(const ObjectName& name, CallDone<bool> done) override;
  HttpRequest Head(const ObjectName& name) override;
  HttpRequest Range(const ObjectName& name, const FileInfo& state, uint64_t offset, uint64_t length) override;
  absl::StatusOr<HttpRequest> List(const ObjectName& name, const std::string& page, size_t most) override;
  absl::StatusOr<FileInfo> StateOf(const ObjectName& name, const HttpResponse& response) override;
  absl::StatusOr<ObjectPage> PageOf(const ObjectName& name, const HttpResponse& response) override;
  ObjectError ErrorOf(const ObjectName& name, const HttpResponse& response) override;

  // Makes a request for the bucket (`key` is "") or for an object in it.
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  HttpRequest Request(HttpRequest::Method method, const ObjectName& name, const std::string& key, const Pairs& query,
                      const std::map<std::string, std::string>& headers, std::string body = "");

 private:
  std::string RegionOf(const std::string& bucket);
  // Stores the bucket's region. Returns false if `region` is empty or is the known one.
  bool LearnRegion(const std::string& bucket, const std::string& region);

  const S3Options options_;
  AwsKeySource* const keys_;
  StorageClock clock_;
  Mutex mutex_;
  std::map<std::string, std::string> regions_ ABSL_GUARDED_BY(mutex_);  // by bucket
};

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_S3_S3_DIALECT_H_
