// Tokens that are sent with each request and end: had before they are needed, and had anew before they end.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_BEARER_TOKEN_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_BEARER_TOKEN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "pipeline/storage/object/http_client.h"

namespace penstock {

// Secret: never in a message or a log.
struct BearerToken {
  std::string value;
  int64_t ends_at = 0;  // seconds since 1970; 0: never
};

// Thread-safe. One question at a time; who comes meanwhile waits for its answer.
class TokenSource {
 public:
  // Asks for a token: its argument is called once, perhaps inside the call.
  using Ask = std::function<void(CallDone<BearerToken>)>;
  // `now`: seconds since 1970. What `ask` begins ends before this goes.
  TokenSource(Ask ask, std::function<int64_t()> now) : ask_(std::move(ask)), now_(std::move(now)) {}

  // `done` once, perhaps inside the call. One that lasts is given while a newer one cannot be had.
  void Get(CallDone<BearerToken> done);
  // What was had last, for requests that are made right behind Get.
  BearerToken Current() const;
  // A storage refused the token: the next Get asks again.
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

// A token in an answer of OAuth 2 (RFC 6749, section 5): "access_token", "expires_in". `who` is who was asked.
// PermissionDenied with the reason that it gives, Unavailable.
absl::StatusOr<BearerToken> TokenOf(const std::string& who, const absl::StatusOr<HttpResponse>& response, int64_t now);

// Why an answer is no success: what it says of itself, without anything that was sent. OK where it is one.
absl::Status WhyRefused(const std::string& who, const absl::StatusOr<HttpResponse>& response);

// Whether secrets may be sent there: by https, or to this machine.
bool MayHoldSecrets(const std::string& url);

// "a=1&b=2", of a form.
std::string FormOf(const std::vector<std::pair<std::string, std::string>>& fields);
HttpRequest PostForm(const std::string& url, const std::vector<std::pair<std::string, std::string>>& fields);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_BEARER_TOKEN_H_
