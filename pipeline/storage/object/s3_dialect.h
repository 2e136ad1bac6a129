// S3, and everything that speaks it.
// https://docs.aws.amazon.com/AmazonS3/latest/API/Welcome.html
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_S3_DIALECT_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_S3_DIALECT_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "pipeline/storage/object/aws_keys.h"
#include "pipeline/storage/object/object_dialect.h"

namespace penstock {

struct S3Options {
  std::string endpoint;  // "https://host[:port]"; empty: AWS's own
  std::string region;    // empty: us-east-1, until a bucket says otherwise
  // The bucket in the path and not in the host's name; where an endpoint is given, and for names with a dot, always.
  bool path_style = false;
  bool is_signed = true;         // false: nobody asks, as of public buckets
  std::function<int64_t()> now;  // seconds since 1970

  // AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_REGION, AWS_DEFAULT_REGION; PENSTOCK_S3_UNSIGNED=1.
  static S3Options FromEnvironment();
};

class S3Dialect final : public ObjectDialect {
 public:
  // `keys` lives as long.
  S3Dialect(S3Options options, AwsKeySource* keys);

  void Prepare(const ObjectName& name, CallDone<bool> done) override;
  HttpRequest Head(const ObjectName& name) override;
  HttpRequest Range(const ObjectName& name, const FileInfo& state, uint64_t offset, uint64_t length) override;
  absl::StatusOr<HttpRequest> List(const ObjectName& name, const std::string& page, size_t most) override;
  absl::StatusOr<FileInfo> StateOf(const ObjectName& name, const HttpResponse& response) override;
  absl::StatusOr<ObjectPage> PageOf(const ObjectName& name, const HttpResponse& response) override;
  ObjectError ErrorOf(const ObjectName& name, const HttpResponse& response) override;

  // Of the bucket (""), or of an object in it.
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  HttpRequest Request(HttpRequest::Method method, const ObjectName& name, const std::string& key, const Pairs& query,
                      const std::map<std::string, std::string>& headers, std::string body = "");

 private:
  std::string RegionOf(const std::string& bucket);
  // Whether the answer says another region than was asked.
  bool LearnRegion(const std::string& bucket, const std::string& region);
  // The storage's clock, by an answer's date. False: it says nothing new.
  bool LearnClock(const HttpResponse& response);

  const S3Options options_;
  AwsKeySource* const keys_;
  Mutex mutex_;
  std::map<std::string, std::string> regions_ ABSL_GUARDED_BY(mutex_);  // by bucket
  int64_t clock_ahead_ ABSL_GUARDED_BY(mutex_) = 0;                     // of ours, in seconds
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_S3_DIALECT_H_
