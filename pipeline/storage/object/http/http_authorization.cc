#include "pipeline/storage/object/http/http_authorization.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace penstock::storage {
namespace {

constexpr char kVariable[] = "PENSTOCK_HTTP_AUTHORIZATION", kFileVariable[] = "PENSTOCK_HTTP_AUTHORIZATION_FILE";
constexpr Nanos kReadEvery = 10 * kSecond;

std::string ValueOf(const Environment& environment, const std::string& variable) {
  return environment.variable == nullptr ? "" : environment.variable(variable);
}

// A line break would end the header.
bool IsHeader(const std::string& text) {
  for (const char c : text) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) return false;
  }
  return true;
}

}  // namespace

HttpAuthorization::HttpAuthorization(Environment environment, Clock* clock)
    : environment_(std::move(environment)),
      clock_(clock),
      path_(ValueOf(environment_, kVariable).empty() ? ValueOf(environment_, kFileVariable) : ""),
      value_(ValueOf(environment_, kVariable)) {
  if (!path_.empty()) Read();
}

std::string HttpAuthorization::Value() {
  bool read = false;
  {
    MutexLock lock(&mutex_);
    read = !path_.empty() && clock_->Now() >= read_again_;
    if (read) read_again_ = clock_->Now() + kReadEvery;
  }
  if (read) Read();
  MutexLock lock(&mutex_);
  return value_;
}

void HttpAuthorization::Read() {
  const absl::StatusOr<std::string> read = environment_.file(path_);
  const std::string text = read.ok() ? std::string(absl::StripAsciiWhitespace(*read)) : "";
  MutexLock lock(&mutex_);
  read_again_ = clock_->Now() + kReadEvery;
  if (!read.ok()) {
    fault_ = absl::PermissionDeniedError(absl::StrCat(kFileVariable, ": ", read.status().message()));
  } else if (text.empty() || !IsHeader(text)) {
    fault_ = absl::PermissionDeniedError(
        absl::StrCat(kFileVariable, ": ", path_, " must hold one line, such as 'Bearer ...'"));
  } else {
    fault_ = absl::OkStatus();
    value_ = text;
  }
}

absl::Status HttpAuthorization::fault() const {
  MutexLock lock(&mutex_);
  return fault_;
}

}  // namespace penstock::storage
