#include "server/http/http_sessions.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace penstock::server {

HttpSessions::HttpSessions(std::string name, bool secure, RandomSource* random)
    : name_(secure ? absl::StrCat("__Host-", name) : std::move(name)), secure_(secure), random_(random) {}

std::string HttpSessions::Open(std::string token) {
  const std::string id = absl::StrCat(RandomHexId(random_), RandomHexId(random_));
  if (order_.size() >= kMost) {
    tokens_.erase(order_.front());
    order_.pop_front();
  }
  order_.push_back(id);
  tokens_[id] = std::move(token);
  return absl::StrCat(name_, "=", id, "; Path=/; HttpOnly; SameSite=Strict", secure_ ? "; Secure" : "");
}

std::string HttpSessions::TokenOf(std::string_view cookies) const {
  for (const absl::string_view part : absl::StrSplit(absl::string_view(cookies.data(), cookies.size()), ';')) {
    absl::string_view id = absl::StripAsciiWhitespace(part);
    if (!absl::ConsumePrefix(&id, name_) || !absl::ConsumePrefix(&id, "=")) continue;
    const auto found = tokens_.find(std::string_view(id.data(), id.size()));
    if (found != tokens_.end()) return found->second;
  }
  return "";
}

}  // namespace penstock::server
