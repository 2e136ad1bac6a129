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
#include "pipeline/storage/object/hedge_policy.h"
#include "pipeline/storage/storage.h"

namespace penstock {

struct HttpResponse {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case; of the last answer, where redirects were followed
  std::string body;
  size_t bytes = 0;  // of the body
};

struct HttpRequest {
  enum class Method : uint8_t { kGet, kHead, kPost, kPut, kDelete };
  Method method = Method::kGet;
  std::string url;
  std::vector<std::string> headers;  // "name: value"; may hold what is secret
  std::string body;                  // of POST and PUT
  // Where the body of a 2xx answer goes, one part behind the other: at most `capacity` bytes, which they have together
  // and which stay until the call ends. None: to `body` of the response, at most kMostBody bytes.
  std::vector<ReadPart> parts;
  size_t capacity = 0;
  // Whether the answer's headers are those of what is wanted: else nothing is written to `parts`, and it ends the call
  // without its body. On the client's thread; null: it is.
  std::function<bool(const HttpResponse&)> is_wanted = nullptr;
  // Of requests with `parts` and `is_wanted`: whom it asks. When it is late among those who ask the same, it is asked a
  // second time (hedge_policy.h); the first good answer is its answer, the other is broken off. "": never.
  std::string hedged_with = {};
  // Told, twice a second and on the client's thread, for how long nothing has come, once that is kSilentAfter.
  std::function<void(Nanos silent)> when_silent = nullptr;
  bool direct = false;  // whatever proxy the environment names: to a service of this machine or its network alone
  bool follow_redirects = false;  // within http and https; other hosts do not get the headers above
  // Of silence on the connection, and until it is made.
  Nanos silence = 10 * kSecond;
  Nanos connecting = 5 * kSecond;
};

// Thread-safe. At most `most_under_way` requests at once, second ones included, the most urgent first; the others wait.
class HttpClient {
 public:
  static constexpr size_t kMostBody = size_t{16} << 20;
  // What is longer silent than this is worth a word; it is asked for again later (HttpRequest::silence).
  static constexpr Nanos kSilentAfter = 2 * kSecond;
  // Unavailable: no answer came, or not all of it; Cancelled; InvalidArgument: no URL. Messages do not name the URL,
  // which may hold what is secret. What the body of a refusal repeats of the request's tokens is hidden
  // (request_secrets.h).
  using Done = absl::AnyInvocable<void(absl::StatusOr<HttpResponse>) &&>;

  explicit HttpClient(int most_under_way, const HedgePolicy::Options& hedges = HedgePolicy::Options());
  // Ends what is under way with Cancelled.
  ~HttpClient();

  // Never blocks. `done` runs once, on the client's thread, and is short. Not before `delay` is over. A stop ends it
  // at once, with its connection where it has begun.
  void Send(HttpRequest request, const CallOptions& options, Done done, Nanos delay = 0);

  // Requests that were sent a second time because the first was late.
  uint64_t hedges() const;

 private:
  class Loop;
  const std::unique_ptr<Loop> loop_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_HTTP_CLIENT_H_
