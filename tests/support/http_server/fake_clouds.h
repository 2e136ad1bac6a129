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

namespace penstock {

class FakeClouds {
 public:
  void Put(const std::string& bucket, const std::string& key, const std::string& content);

  // Paths "/storage/v1/b/bucket/o/key".
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
  using Bucket = std::map<std::string, Object>;
  Page List(const Bucket& bucket, const std::string& prefix, const std::string& after) const;
  // Answers a range such as "bytes=0-9", or everything if there is none. The status is 416 after the content's end.
  static void AnswerRange(const std::string& range, const std::string& content, ServedAnswer* answer);

  Mutex mutex_;
  std::map<std::string, Bucket> buckets_ ABSL_GUARDED_BY(mutex_);
  int64_t puts_ ABSL_GUARDED_BY(mutex_) = 0;
};

ServedAnswer GoogleError(int status, const std::string& message);
ServedAnswer AzureError(int status, const std::string& code, const std::string& message = "because");

}  // namespace penstock

#endif  // PENSTOCK_TESTS_SUPPORT_HTTP_SERVER_FAKE_CLOUDS_H_
