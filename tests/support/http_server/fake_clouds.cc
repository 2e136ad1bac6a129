#include "tests/support/http_server/fake_clouds.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/check.h"

namespace penstock::support {
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

void FakeClouds::MakeBucket(const std::string& bucket) {
  MutexLock lock(&mutex_);
  buckets_[bucket];
}

void FakeClouds::Put(const std::string& bucket, const std::string& key, const std::string& content) {
  MutexLock lock(&mutex_);
  buckets_[bucket][key] = {content, ++puts_};
}

std::optional<std::string> FakeClouds::Content(const std::string& bucket, const std::string& key) {
  MutexLock lock(&mutex_);
  const auto found = buckets_[bucket].find(key);
  return found == buckets_[bucket].end() ? std::nullopt : std::optional(found->second.content);
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

ServedAnswer FakeClouds::GooglePut(const std::string& bucket, const std::string& key, const std::string& generation,
                                   const std::string& content) {
  Bucket& objects = buckets_[bucket];
  const auto found = objects.find(key);
  const int64_t number = found == objects.end() ? 0 : found->second.number;
  if (!generation.empty() && generation != absl::StrCat(number)) return GoogleError(412, "conditionNotMet");
  const Object& object = objects[key] = {content, ++puts_};
  return {.body = absl::StrCat("{\"generation\": \"", object.number, "\"}")};
}

ServedAnswer FakeClouds::GoogleUpload(const ServedRequest& request, const std::string& bucket) {
  auto query = FieldsOfQuery(request.query);
  const std::string& key = query["name"];
  const std::string& generation = query["ifGenerationMatch"];
  if (query["uploadType"] == "media") return GooglePut(bucket, key, generation, request.body);
  const std::string id = absl::StrCat(++puts_);
  sessions_[id] = {bucket, key, generation};
  return {.headers = {{"Location", absl::StrCat("http://", HeaderOf(request, "host"), "/session/", id)}}};
}

ServedAnswer FakeClouds::GoogleSession(const ServedRequest& request, const std::string& id) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return GoogleError(404, "no such upload");
  if (request.method == "DELETE") {
    sessions_.erase(found);
    return {.status = 204};
  }
  std::string& content = found->second.content;
  const std::string range = HeaderOf(request, "content-range");
  // Bytes that are known already are not appended again.
  content.resize(std::stoul(range.substr(sizeof("bytes"))));
  content += request.body;
  if (absl::EndsWith(range, "/*")) {
    return {.status = 308, .headers = {{"Range", absl::StrCat("bytes=0-", content.size() - 1)}}};
  }
  const Session whole = std::move(found->second);
  sessions_.erase(found);
  return GooglePut(whole.bucket, whole.key, whole.generation, whole.content);
}

ServedAnswer FakeClouds::Google(const ServedRequest& request) {
  if (auto answer = fault(request)) return *std::move(answer);
  std::vector<std::string> parts = absl::StrSplit(request.path, '/');  // "", storage, v1, b, bucket, o[, key]
  const bool upload = parts.size() > 1 && parts[1] == "upload";
  if (upload) parts.erase(parts.begin());
  MutexLock lock(&mutex_);
  if (parts.size() == 3 && parts[1] == "session") return GoogleSession(request, parts[2]);
  if (parts.size() < 6) return GoogleError(400, "no such path");
  auto query = FieldsOfQuery(request.query);
  const auto bucket = buckets_.find(Unescaped(parts[4]));
  if (bucket == buckets_.end()) return GoogleError(404, "The specified bucket does not exist.");
  if (upload) return GoogleUpload(request, bucket->first);
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
  if (query.contains("ifGenerationMatch") && query["ifGenerationMatch"] != absl::StrCat(object.number)) {
    return GoogleError(412, "conditionNotMet");
  }
  if (request.method == "DELETE") {
    bucket->second.erase(found);
    return {.status = 204};
  }
  if (query["alt"] != "media") {
    answer.body = absl::StrCat("{\"size\": \"", object.content.size(), "\", \"generation\": \"", object.number, "\"}");
    return answer;
  }
  answer.headers = {{"x-goog-generation", absl::StrCat(object.number)}};
  AnswerRange(HeaderOf(request, "range"), object.content, &answer);
  return answer;
}

ServedAnswer FakeClouds::AzurePut(const ServedRequest& request, const std::string& container, const std::string& key) {
  auto query = FieldsOfQuery(request.query);
  if (query["comp"] == "block") {
    blocks_[query["blockid"]] = request.body;
    return {.status = 201};
  }
  std::string content;
  if (query["comp"] == "blocklist") {
    const std::vector<std::string> names = absl::StrSplit(request.body, "<Latest>");
    for (size_t i = 1; i < names.size(); ++i) {
      const auto block = blocks_.find(names[i].substr(0, names[i].find('<')));
      if (block == blocks_.end()) return AzureError(400, "InvalidBlockList");
      content += block->second;
    }
  } else {
    content = request.body;
  }
  Object& object = buckets_[container][key];
  object = {std::move(content), ++puts_};
  return {.status = 201, .headers = {{"ETag", absl::StrCat("\"0x", object.number, "\"")}}};
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
  const std::string key = parts.size() < 4 ? "" : Unescaped(parts[3]);
  const auto found = container->second.find(key);
  const bool exists = found != container->second.end();
  const std::string tag = exists ? absl::StrCat("\"0x", found->second.number, "\"") : "";
  if (const std::string match = HeaderOf(request, "if-match"); !match.empty() && match != tag) {
    return exists ? AzureError(412, "ConditionNotMet") : AzureError(404, "BlobNotFound");
  }
  if (exists && HeaderOf(request, "if-none-match") == "*") return AzureError(409, "BlobAlreadyExists");
  if (request.method == "PUT") return AzurePut(request, container->first, key);
  if (!exists) return AzureError(404, "BlobNotFound");
  if (request.method == "DELETE") {
    container->second.erase(found);
    return {.status = 202};
  }
  answer.headers = {{"ETag", tag}};
  AnswerRange(HeaderOf(request, "x-ms-range"), found->second.content, &answer);
  return answer;
}

}  // namespace penstock::support
