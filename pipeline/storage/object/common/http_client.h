// HTTP client for many concurrent requests on one thread: libcurl's multi interface.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_HTTP_CLIENT_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_HTTP_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "base/runtime/clock.h"
#include "pipeline/storage/object/common/hedge_policy.h"
#include "pipeline/storage/storage.h"

namespace penstock::storage {

struct HttpResponse {
  int status = 0;
  std::map<std::string, std::string> headers;  // Names in lower case. If redirects were followed, the last answer's.
  std::string body;
  size_t bytes = 0;  // size of the received body
};

struct HttpRequest {
  enum class Method : uint8_t { kGet, kHead, kPost, kPut, kDelete };
  Method method = Method::kGet;
  std::string url;
  std::vector<std::string> headers;  // "name: value"; may hold secrets
  // Secrets besides those that SecretsOf() finds by their names (request_secrets.h).
  std::vector<std::string> secrets = {};
  std::string body;  // for POST and PUT
  // Destination of the body of a 2xx answer, filled in order. The parts must stay valid until the call ends. They have
  // at least `capacity` bytes together, which is the limit of the body. Any other body goes to `body` of the response,
  // at most kMostBody bytes.
  std::vector<ReadPart> parts;
  size_t capacity = 0;
  // Returns whether the headers of a 2xx answer belong to the wanted one. If not, nothing is written to `parts` and the
  // call ends without the body. Runs on the client's thread. Null: every answer is wanted.
  std::function<bool(const HttpResponse&)> is_wanted = nullptr;
  // Name of the storage, for requests with `parts` and `is_wanted`. A request that is late compared with others of the
  // same name is sent a second time (hedge_policy.h). The first good answer counts, and the other transfer is aborted.
  // "": never.
  std::string hedged_with = {};
  // Runs twice a second on the client's thread, once nothing has arrived for kSilentAfter. Receives the duration of the
  // silence.
  std::function<void(Nanos silent)> when_silent = nullptr;
  bool direct = false;            // ignores proxies in the environment, for services of this machine or its network
  bool new_connection = false;    // uses no kept connection, and does not keep its own
  bool follow_redirects = false;  // within http and https; libcurl sends no authorization to other hosts
  // Limits of silence on the connection, and of the time until it is open.
  Nanos silence = 10 * kSecond;
  Nanos connecting = 5 * kSecond;
};

// Thread-safe. At most `most_under_way` requests are in flight, second ones included. The others wait, and the most
// urgent starts first.
class HttpClient {
 public:
  static constexpr size_t kMostBody = size_t{16} << 20;
  // Silence that is reported. A request that stays silent ends later (HttpRequest::silence).
  static constexpr Nanos kSilentAfter = 2 * kSecond;
  // Receives the response or an error. Messages do not name the URL, which may hold secrets. Secrets of the request are
  // hidden in the body of an error response (request_secrets.h).
  //   Unavailable         no answer arrived, or only a part of it, or the body is longer than `capacity`
  //   FailedPrecondition  a success response without `parts` is longer than kMostBody
  //   InvalidArgument     the URL is malformed, or neither http nor https
  //   Cancelled           a stop was requested, or the client ends
  using Done = absl::AnyInvocable<void(absl::StatusOr<HttpResponse>) &&>;

  // `clock` measures delays, late requests and silence; libcurl applies its own limits in real time. The client looks
  // at the clock with each request and, while requests are under way, at least once a second. The clock must outlive
  // the client.
  explicit HttpClient(int most_under_way, const HedgePolicy::Options& hedges = HedgePolicy::Options(),
                      Clock* clock = Clock::Real());
  // Ends all requests with Cancelled.
  ~HttpClient();

  // Starts a request after `delay`. Never blocks. `done` runs once, on the client's thread, and must be short. It runs
  // inside the call if the client's thread cannot start or the client ends. A stop ends the request at once, and closes
  // its connection if it has begun.
  void Send(HttpRequest request, const CallOptions& options, Done done, Nanos delay = 0);

  // Returns the number of requests that were sent a second time because the first was late.
  uint64_t hedges() const;

 private:
  class Loop;
  const std::unique_ptr<Loop> loop_;
};

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_HTTP_CLIENT_H_
