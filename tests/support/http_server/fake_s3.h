// Buckets in memory with S3's API, for HttpServer.
#ifndef PENSTOCK_TESTS_SUPPORT_HTTP_SERVER_FAKE_S3_H_
#define PENSTOCK_TESTS_SUPPORT_HTTP_SERVER_FAKE_S3_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "tests/support/http_server/http_server.h"

namespace penstock::support {

// Reads with ranges and If-Match, listings of pages, writes in one request or in parts, with conditions. Paths are
// "/bucket/key". Thread-safe, except `page_entries`.
class FakeS3 {
 public:
  ServedAnswer operator()(const ServedRequest& request);

  void MakeBucket(const std::string& bucket);
  // Makes the bucket, too.
  void Put(const std::string& bucket, const std::string& key, const std::string& content);
  // Returns nullopt if the object does not exist.
  std::optional<std::string> Content(const std::string& bucket, const std::string& key);
  // Returns the number of uploads in parts that are neither complete nor aborted.
  size_t pending_uploads();

  ServedFault fault;
  size_t page_entries = 1000;

 private:
  struct Object {
    std::string content, tag;
  };
  struct Upload {
    std::string bucket, key;
    std::map<int, Object> parts = {};
  };
  using Bucket = std::map<std::string, Object>;

  Object Make(std::string content) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  ServedAnswer Get(const Object& object, const ServedRequest& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  ServedAnswer List(const Bucket& bucket, const ServedRequest& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  ServedAnswer ListUploads(const std::string& bucket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Answers a request about an upload in parts. `query` has the field "uploads" or "uploadId".
  ServedAnswer InParts(const std::string& bucket, const std::string& key, const ServedRequest& request,
                       std::map<std::string, std::string> query) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  std::map<std::string, Bucket> buckets_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Upload> uploads_ ABSL_GUARDED_BY(mutex_);  // by ID
  int puts_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Returns "<Error><Code>..."
ServedAnswer S3Error(int status, const std::string& code, const std::string& message = "because");

}  // namespace penstock::support

#endif  // PENSTOCK_TESTS_SUPPORT_HTTP_SERVER_FAKE_S3_H_
