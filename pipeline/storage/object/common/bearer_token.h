// Tokens that accompany each request and expire. They are fetched before the first request and renewed before they
// expire.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_BEARER_TOKEN_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_BEARER_TOKEN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "pipeline/storage/object/common/http_client.h"

namespace penstock::storage {

// Secret: never put it in a message or a log.
struct BearerToken {
  std::string value;
  int64_t ends_at = 0;  // seconds since 1970; 0: never
};

// Thread-safe. Makes one request at a time. Further callers receive the old token if it is still valid, for up to 10 s.
// Otherwise they wait for the answer.
class TokenSource {
 public:
  // Fetches a token. Must call its argument once, possibly inside the call.
  using Ask = std::function<void(CallDone<BearerToken>)>;
  // `now` returns seconds since 1970. Requests that `ask` begins must end before this object is destroyed.
  TokenSource(Ask ask, std::function<int64_t()> now) : ask_(std::move(ask)), now_(std::move(now)) {}

  // Calls `done` once, possibly inside the call. If a renewal fails, passes the old token as long as it lasts.
  void Get(CallDone<BearerToken> done);
  // Returns the last fetched token, for requests that follow Get() directly. Empty if there is none, or after Forget().
  BearerToken Current() const;
  // Reports that a storage refused the token: the next Get() fetches a new one.
  void Forget(const std::string& value);

 private:
  void Answer(absl::StatusOr<BearerToken> answer);

  const Ask ask_;
  const std::function<int64_t()> now_;
  mutable Mutex mutex_;
  BearerToken current_ ABSL_GUARDED_BY(mutex_);
  int64_t asked_at_ ABSL_GUARDED_BY(mutex_) = 0;
  bool asking_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<CallDone<BearerToken>> waiting_ ABSL_GUARDED_BY(mutex_);
};

// Returns the token in a response of OAuth 2 (RFC 6749, section 5): "access_token", "expires_in". `who` is the service,
// for messages. PermissionDenied: the service refused, with its reason. Unavailable: a retry may help.
absl::StatusOr<BearerToken> TokenOf(const std::string& who, const absl::StatusOr<HttpResponse>& response, int64_t now);

// Returns OK for a success, otherwise an error with the reason in the response's body. The error has no text of the
// request.
absl::Status WhyRefused(const std::string& who, const absl::StatusOr<HttpResponse>& response);

// Returns whether secrets may be sent to `url`: by https, or to this machine.
bool MayHoldSecrets(const std::string& url);

// Encodes a form: "a=1&b=2".
std::string FormOf(const std::vector<std::pair<std::string, std::string>>& fields);
HttpRequest PostForm(const std::string& url, const std::vector<std::pair<std::string, std::string>>& fields);

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_BEARER_TOKEN_H_
