#include "pipeline/storage/object/s3/aws_signature.h"

#include <algorithm>
#include <ctime>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "pipeline/storage/object/common/digest.h"
#include "pipeline/storage/object/common/object_name.h"

namespace penstock::storage {
namespace {

std::string TimeText(int64_t seconds) {
  const std::time_t time = static_cast<std::time_t>(seconds);
  std::tm parts;
  gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts);
  return text;
}

}  // namespace

std::string AwsQuery(const std::vector<std::pair<std::string, std::string>>& query) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : query)
    parts.push_back(absl::StrCat(PercentEncoded(name), "=", PercentEncoded(value)));
  std::sort(parts.begin(), parts.end());
  return absl::StrJoin(parts, "&");
}

std::map<std::string, std::string> AwsSignedHeaders(const AwsRequest& request, const AwsKeys& keys) {
  const std::string time = TimeText(request.time), day = time.substr(0, 8);
  std::map<std::string, std::string> sent = {{"x-amz-date", time}, {"x-amz-content-sha256", Sha256Hex(request.body)}};
  if (!keys.token.empty()) sent["x-amz-security-token"] = keys.token;

  std::map<std::string, std::string> is_signed = request.headers;
  is_signed.insert(sent.begin(), sent.end());
  is_signed["host"] = request.host;
  std::vector<std::string> names;
  std::string lines;
  for (const auto& [name, value] : is_signed) {
    names.push_back(name);
    absl::StrAppend(&lines, name, ":", value, "\n");
  }
  const std::string signed_names = absl::StrJoin(names, ";");
  const std::string canonical = absl::StrCat(request.method, "\n", request.path, "\n", AwsQuery(request.query), "\n",
                                             lines, "\n", signed_names, "\n", sent["x-amz-content-sha256"]);
  const std::string scope = absl::StrCat(day, "/", request.region, "/", request.service, "/aws4_request");
  const std::string to_sign = absl::StrCat("AWS4-HMAC-SHA256\n", time, "\n", scope, "\n", Sha256Hex(canonical));
  std::string key = HmacSha256(absl::StrCat("AWS4", keys.secret), day);
  for (const absl::string_view part :
       {absl::string_view(request.region), absl::string_view(request.service), absl::string_view("aws4_request")}) {
    key = HmacSha256(key, part);
  }
  sent["authorization"] =
      absl::StrCat("AWS4-HMAC-SHA256 Credential=", keys.id, "/", scope, ",SignedHeaders=", signed_names,
                   ",Signature=", absl::BytesToHexString(HmacSha256(key, to_sign)));
  return sent;
}

}  // namespace penstock::storage
