#include "pipeline/storage/object/common/bearer_token.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pipeline/storage/object/common/answer_fields.h"
#include "pipeline/storage/object/common/object_name.h"

namespace penstock::storage {
namespace {

// Seconds. Google's metadata service returns its current token until about four minutes before the token expires.
constexpr int64_t kTokenRenewedBefore = 225;
constexpr int64_t kTokenAskedAgainAfter = 10;
constexpr size_t kLongestTokenError = 200;

}  // namespace

void TokenSource::Get(CallDone<BearerToken> done) {
  BearerToken token;
  {
    MutexLock lock(&mutex_);
    const int64_t now = now_();
    const bool there = !current_.value.empty() && (current_.ends_at == 0 || now < current_.ends_at);
    const bool lasts = current_.ends_at == 0 || now < current_.ends_at - kTokenRenewedBefore;
    if (there && (lasts || now < asked_at_ + kTokenAskedAgainAfter)) {
      token = current_;
    } else {
      waiting_.push_back(std::move(done));
      if (std::exchange(asking_, true)) return;
      asked_at_ = now;
    }
  }
  if (!token.value.empty()) return std::move(done)(std::move(token));
  ask_([this](absl::StatusOr<BearerToken> answer) { Answer(std::move(answer)); });
}

void TokenSource::Answer(absl::StatusOr<BearerToken> answer) {
  std::vector<CallDone<BearerToken>> waiting;
  {
    MutexLock lock(&mutex_);
    asking_ = false;
    if (answer.ok()) {
      current_ = *answer;
    } else if (!current_.value.empty() && now_() < current_.ends_at) {
      answer = current_;
    }
    waiting.swap(waiting_);
  }
  for (CallDone<BearerToken>& done : waiting) std::move(done)(answer);
}

BearerToken TokenSource::Current() const {
  MutexLock lock(&mutex_);
  return current_;
}

void TokenSource::Forget(const std::string& value) {
  MutexLock lock(&mutex_);
  if (current_.value == value) current_ = BearerToken();
}

absl::Status WhyRefused(const std::string& who, const absl::StatusOr<HttpResponse>& response) {
  if (!response.ok()) return absl::UnavailableError(absl::StrCat(who, ": ", response.status().message()));
  if (response->status >= 200 && response->status < 300) return absl::OkStatus();
  const auto json = nlohmann::json::parse(response->body, nullptr, /*allow_exceptions=*/false);
  std::string reason = TextOf(json, "error");
  // Google's services other than OAuth use {"error": {"message": ...}}.
  if (json.is_object() && json.contains("error") && json["error"].is_object())
    reason = TextOf(json["error"], "message");
  if (const std::string more = TextOf(json, "error_description"); !more.empty()) {
    reason = absl::StrCat(reason, reason.empty() ? "" : ": ", more.substr(0, more.find_first_of("\r\n")));
  }
  reason.resize(std::min(reason.size(), kLongestTokenError));
  const std::string text = absl::StrCat(who, ": HTTP ", response->status, reason.empty() ? "" : ": ", reason);
  if (response->status == 429 || response->status >= 500) return absl::UnavailableError(text);
  return absl::PermissionDeniedError(text);
}

absl::StatusOr<BearerToken> TokenOf(const std::string& who, const absl::StatusOr<HttpResponse>& response, int64_t now) {
  if (absl::Status refused = WhyRefused(who, response); !refused.ok()) return refused;
  const auto json = nlohmann::json::parse(response->body, nullptr, /*allow_exceptions=*/false);
  BearerToken token{.value = TextOf(json, "access_token"), .ends_at = 0};
  if (token.value.empty()) return absl::UnavailableError(absl::StrCat(who, ": its answer holds no token"));
  // A number, but a string in answers of Azure's services.
  int64_t seconds = 0;
  const auto lasts = json.find("expires_in");
  if (lasts != json.end() && lasts->is_number()) {
    seconds = lasts->get<int64_t>();
  } else if (!absl::SimpleAtoi(TextOf(json, "expires_in"), &seconds)) {
    seconds = 0;
  }
  if (seconds > 0) token.ends_at = now + seconds;
  // Some of Azure's services return the time itself.
  if (int64_t ends_at = 0; seconds <= 0 && absl::SimpleAtoi(TextOf(json, "expires_on"), &ends_at))
    token.ends_at = ends_at;
  return token;
}

bool MayHoldSecrets(const std::string& url) {
  if (absl::StartsWith(url, "https://")) return true;
  for (const absl::string_view host : {"http://127.0.0.1", "http://localhost", "http://[::1]"}) {
    if (!absl::StartsWith(url, host)) continue;
    const absl::string_view rest = absl::string_view(url).substr(host.size());
    if (rest.empty() || rest[0] == ':' || rest[0] == '/') return true;
  }
  return false;
}

std::string FormOf(const std::vector<std::pair<std::string, std::string>>& fields) {
  std::string text;
  for (const auto& [name, value] : fields) {
    absl::StrAppend(&text, text.empty() ? "" : "&", PercentEncoded(name), "=", PercentEncoded(value));
  }
  return text;
}

HttpRequest PostForm(const std::string& url, const std::vector<std::pair<std::string, std::string>>& fields) {
  HttpRequest request;
  request.method = HttpRequest::Method::kPost;
  request.url = url;
  request.headers = {"Content-Type: application/x-www-form-urlencoded"};
  request.body = FormOf(fields);
  return request;
}

}  // namespace penstock::storage
