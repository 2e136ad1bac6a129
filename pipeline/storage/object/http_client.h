// HTTP requests, many at once, on one thread: libcurl's multi interface.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_HTTP_CLIENT_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_HTTP_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "base/runtime/clock.h"
#include "pipeline/storage/storage.h"

namespace penstock {

struct HttpRequest {
  enum class Method : uint8_t { kGet, kHead, kPost, kPut, kDelete };
  Method method = Method::kGet;
  std::string url;
  std::vector<std::string> headers;  // "name: value"; may hold what is secret
  std::string body;                  // of POST and PUT
  // Where the body of a 2xx answer goes: at most `capacity` bytes, which stay until the call ends. Null: to `body` of
  // the response, at most kMostBody bytes.
  char* out = nullptr;
  size_t capacity = 0;
  bool direct = false;  // whatever proxy the environment names: to a service of this machine or its network alone
  bool follow_redirects = false;  // within http and https; other hosts do not get the headers above
  // Of silence on the connection, and until it is made.
  Nanos silence = 10 * kSecond;
  Nanos connecting = 5 * kSecond;
};

struct HttpResponse {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case; of the last answer, where redirects were followed
  std::string body;
  size_t bytes = 0;  // of the body
};

// Thread-safe. At most `most_under_way` requests at once, the most urgent first; the others wait.
class HttpClient {
 public:
  static constexpr size_t kMostBody = size_t{16} << 20;
  // Unavailable: no answer came, or not all of it; Cancelled; InvalidArgument: no URL. Messages do not name the URL,
  // which may hold what is secret.
  using Done = absl::AnyInvocable<void(absl::StatusOr<HttpResponse>) &&>;

  explicit HttpClient(int most_under_way);
  // Ends what is under way with Cancelled.
  ~HttpClient();

  // Never blocks. `done` runs once, on the client's thread, and is short. Not before `delay` is over. A stop ends a
  // request that waits, not one that has begun.
  void Send(HttpRequest request, const CallOptions& options, Done done, Nanos delay = 0);

 private:
  class Loop;
  const std::unique_ptr<Loop> loop_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_HTTP_CLIENT_H_
