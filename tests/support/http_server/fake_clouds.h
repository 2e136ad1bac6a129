// Buckets in memory, with Google's JSON API and Azure's Blob service, for HttpServer. fake_s3.h has S3's.
#ifndef PENSTOCK_TESTS_SUPPORT_HTTP_SERVER_FAKE_CLOUDS_H_
#define PENSTOCK_TESTS_SUPPORT_HTTP_SERVER_FAKE_CLOUDS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/mutex.h"
#include "tests/support/http_server/http_server.h"

namespace penstock::support {

// Reads with ranges, listings of pages, writes in one request or in parts, with conditions. Thread-safe, except
// `page_entries`.
class FakeClouds {
 public:
  void MakeBucket(const std::string& bucket);
  // Makes the bucket, too.
  void Put(const std::string& bucket, const std::string& key, const std::string& content);
  // Returns nullopt if the object does not exist.
  std::optional<std::string> Content(const std::string& bucket, const std::string& key);

  // Paths "/storage/v1/b/bucket/o/key", "/upload/storage/v1/b/bucket/o" and "/session/ID".
  ServedAnswer Google(const ServedRequest& request);
  // Paths "/account/container/blob".
  ServedAnswer Azure(const ServedRequest& request);

  ServedFault fault;
  size_t page_entries = 1000;

 private:
  struct Object {
    std::string content;
    int64_t number = 0;  // counts all objects that were put
  };
  struct Page {
    std::map<std::string, Object> objects;
    std::set<std::string> folders;
    std::string next;
  };
  // Google's upload in parts.
  struct Session {
    std::string bucket, key, generation;  // as GooglePut() gets them
    std::string content = {};
  };
  using Bucket = std::map<std::string, Object>;
  Page List(const Bucket& bucket, const std::string& prefix, const std::string& after) const;
  // Answers a range such as "bytes=0-9", or everything if there is none. The status is 416 after the content's end.
  static void AnswerRange(const std::string& range, const std::string& content, ServedAnswer* answer);

  // Starts an upload, or writes an object in one request.
  ServedAnswer GoogleUpload(const ServedRequest& request, const std::string& bucket)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  ServedAnswer GoogleSession(const ServedRequest& request, const std::string& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // `generation` is a condition: "" for none, "0" for a new object, or the object's generation.
  ServedAnswer GooglePut(const std::string& bucket, const std::string& key, const std::string& generation,
                         const std::string& content) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Answers PUT: a block, a list of blocks or a whole blob.
  ServedAnswer AzurePut(const ServedRequest& request, const std::string& container, const std::string& key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  std::map<std::string, Bucket> buckets_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Session> sessions_ ABSL_GUARDED_BY(mutex_);    // by ID
  std::map<std::string, std::string> blocks_ ABSL_GUARDED_BY(mutex_);  // Azure's, by name
  int64_t puts_ ABSL_GUARDED_BY(mutex_) = 0;
};

ServedAnswer GoogleError(int status, const std::string& message);
ServedAnswer AzureError(int status, const std::string& code, const std::string& message = "because");

}  // namespace penstock::support

#endif  // PENSTOCK_TESTS_SUPPORT_HTTP_SERVER_FAKE_CLOUDS_H_
