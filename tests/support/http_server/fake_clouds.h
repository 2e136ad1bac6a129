// Buckets in memory, as Google's JSON API and Azure's Blob service have them: for HttpServer. (S3's are in
// http_server.h.)
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
    int64_t number = 0;  // of all that were put
  };
  struct Page {
    std::map<std::string, Object> objects;
    std::set<std::string> folders;
    std::string next;
  };
  using Bucket = std::map<std::string, Object>;
  Page List(const Bucket& bucket, const std::string& prefix, const std::string& after) const;
  // Of "bytes=0-9"; all of it where there is none. 416 behind its end.
  static void AnswerRange(const std::string& range, const std::string& content, ServedAnswer* answer);

  Mutex mutex_;
  std::map<std::string, Bucket> buckets_ ABSL_GUARDED_BY(mutex_);
  int64_t puts_ ABSL_GUARDED_BY(mutex_) = 0;
};

ServedAnswer GoogleError(int status, const std::string& message);
ServedAnswer AzureError(int status, const std::string& code, const std::string& message = "because");

}  // namespace penstock

#endif  // PENSTOCK_TESTS_SUPPORT_HTTP_SERVER_FAKE_CLOUDS_H_
