#include "tests/support/http_server/fake_clouds.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/check.h"

namespace penstock {
namespace {

std::string HeaderOf(const ServedRequest& request, const char* name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? "" : found->second;
}

}  // namespace

ServedAnswer GoogleError(int status, const std::string& message) {
  ServedAnswer answer;
  answer.status = status;
  answer.body = absl::StrCat("{\"error\": {\"code\": ", status, ", \"message\": \"", message, "\", \"errors\": [{}]}}");
  return answer;
}

ServedAnswer AzureError(int status, const std::string& code, const std::string& message) {
  ServedAnswer answer;
  answer.status = status;
  answer.headers = {{"x-ms-error-code", code}};
  answer.body = absl::StrCat("<?xml version=\"1.0\"?><Error><Code>", code, "</Code><Message>", message,
                             "\nRequestId:1</Message></Error>");
  return answer;
}

void FakeClouds::Put(const std::string& bucket, const std::string& key, const std::string& content) {
  MutexLock lock(&mutex_);
  buckets_[bucket][key] = {content, ++puts_};
}

FakeClouds::Page FakeClouds::List(const Bucket& bucket, const std::string& prefix, const std::string& after) const {
  Page page;
  std::string last;
  for (const auto& [key, object] : bucket) {
    if (!absl::StartsWith(key, prefix)) continue;
    const size_t slash = key.find('/', prefix.size());
    const std::string entry = slash == std::string::npos ? key : key.substr(0, slash + 1);
    if ((!after.empty() && entry <= after) || page.folders.contains(entry)) continue;
    if (page.objects.size() + page.folders.size() == page_entries) {
      page.next = last;
      break;
    }
    if (slash == std::string::npos) {
      page.objects[entry] = object;
    } else {
      page.folders.insert(entry);
    }
    last = entry;
  }
  return page;
}

void FakeClouds::AnswerRange(const std::string& range, const std::string& content, ServedAnswer* answer) {
  answer->body = content;
  if (range.empty()) return;
  size_t first = 0, last = 0;
  const std::pair<std::string, std::string> ends = absl::StrSplit(range.substr(sizeof("bytes=") - 1), '-');
  PS_CHECK(absl::SimpleAtoi(ends.first, &first) && absl::SimpleAtoi(ends.second, &last));
  if (first >= content.size()) {
    answer->status = 416;
    answer->body.clear();
    return;
  }
  last = std::min(last, content.size() - 1);
  answer->status = 206;
  answer->headers.emplace_back("Content-Range", absl::StrCat("bytes ", first, "-", last, "/", content.size()));
  answer->body = content.substr(first, last - first + 1);
}

ServedAnswer FakeClouds::Google(const ServedRequest& request) {
  if (auto answer = fault(request)) return *std::move(answer);
  const std::vector<std::string> parts = absl::StrSplit(request.path, '/');  // "", storage, v1, b, bucket, o[, key]
  if (parts.size() < 6) return GoogleError(400, "no such path");
  auto query = FieldsOfQuery(request.query);
  MutexLock lock(&mutex_);
  const auto bucket = buckets_.find(Unescaped(parts[4]));
  if (bucket == buckets_.end()) return GoogleError(404, "The specified bucket does not exist.");
  ServedAnswer answer;
  if (parts.size() == 6) {
    const Page page = List(bucket->second, query["prefix"], query["pageToken"]);
    std::vector<std::string> items, folders;
    for (const auto& [key, object] : page.objects) {
      items.push_back(absl::StrCat("{\"name\": \"", key, "\", \"size\": \"", object.content.size(),
                                   "\", \"generation\": \"", object.number, "\"}"));
    }
    for (const std::string& folder : page.folders) folders.push_back(absl::StrCat("\"", folder, "\""));
    answer.body =
        absl::StrCat("{\"items\": [", absl::StrJoin(items, ","), "], \"prefixes\": [", absl::StrJoin(folders, ","), "]",
                     page.next.empty() ? "" : absl::StrCat(", \"nextPageToken\": \"", page.next, "\""), "}");
    return answer;
  }
  const auto found = bucket->second.find(Unescaped(parts[6]));
  if (found == bucket->second.end()) return GoogleError(404, "No such object");
  const Object& object = found->second;
  if (query["alt"] != "media") {
    answer.body = absl::StrCat("{\"size\": \"", object.content.size(), "\", \"generation\": \"", object.number, "\"}");
    return answer;
  }
  if (query.contains("ifGenerationMatch") && query["ifGenerationMatch"] != absl::StrCat(object.number)) {
    return GoogleError(412, "conditionNotMet");
  }
  answer.headers = {{"x-goog-generation", absl::StrCat(object.number)}};
  AnswerRange(HeaderOf(request, "range"), object.content, &answer);
  return answer;
}

ServedAnswer FakeClouds::Azure(const ServedRequest& request) {
  if (auto answer = fault(request)) return *std::move(answer);
  const std::vector<std::string> parts = absl::StrSplit(request.path, absl::MaxSplits('/', 3));
  if (parts.size() < 3) return AzureError(400, "InvalidUri");
  auto query = FieldsOfQuery(request.query);
  MutexLock lock(&mutex_);
  const auto container = buckets_.find(Unescaped(parts[2]));
  if (container == buckets_.end()) return AzureError(404, "ContainerNotFound");
  ServedAnswer answer;
  if (query["comp"] == "list") {
    const Page page = List(container->second, query["prefix"], query["marker"]);
    answer.body = "<?xml version=\"1.0\"?><EnumerationResults><Blobs>";
    for (const auto& [key, object] : page.objects) {
      absl::StrAppend(&answer.body, "<Blob><Name>", key, "</Name><Properties><Etag>0x", object.number,
                      "</Etag><Content-Length>", object.content.size(), "</Content-Length></Properties></Blob>");
    }
    for (const std::string& folder : page.folders) {
      absl::StrAppend(&answer.body, "<BlobPrefix><Name>", folder, "</Name></BlobPrefix>");
    }
    absl::StrAppend(&answer.body, "</Blobs><NextMarker>", page.next, "</NextMarker></EnumerationResults>");
    return answer;
  }
  const auto found = container->second.find(parts.size() < 4 ? "" : Unescaped(parts[3]));
  if (found == container->second.end()) return AzureError(404, "BlobNotFound");
  const std::string tag = absl::StrCat("\"0x", found->second.number, "\"");
  if (const std::string match = HeaderOf(request, "if-match"); !match.empty() && match != tag) {
    return AzureError(412, "ConditionNotMet");
  }
  answer.headers = {{"ETag", tag}};
  AnswerRange(HeaderOf(request, "x-ms-range"), found->second.content, &answer);
  return answer;
}

}  // namespace penstock
