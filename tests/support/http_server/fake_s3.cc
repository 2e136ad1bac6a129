#include "tests/support/http_server/fake_s3.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"

namespace penstock::support {
namespace {

std::string S3HeaderOf(const ServedRequest& request, const char* name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? "" : found->second;
}

// Returns whether a write's condition fits the object's tag, which is "" if there is none.
bool MayWrite(const ServedRequest& request, const std::string& tag) {
  if (S3HeaderOf(request, "if-none-match") == "*" && !tag.empty()) return false;
  const std::string match = S3HeaderOf(request, "if-match");
  return match.empty() || match == tag;
}

}  // namespace

ServedAnswer S3Error(int status, const std::string& code, const std::string& message) {
  return {.status = status,
          .headers = {},
          .body = absl::StrCat("<?xml version=\"1.0\"?><Error><Code>", code, "</Code><Message>", message,
                               "</Message></Error>"),
          .cut_after = {},
          .stall_after = {}};
}

void FakeS3::MakeBucket(const std::string& bucket) {
  MutexLock lock(&mutex_);
  buckets_[bucket];
}

void FakeS3::Put(const std::string& bucket, const std::string& key, const std::string& content) {
  MutexLock lock(&mutex_);
  buckets_[bucket][key] = Make(content);
}

std::optional<std::string> FakeS3::Content(const std::string& bucket, const std::string& key) {
  MutexLock lock(&mutex_);
  const auto found = buckets_[bucket].find(key);
  return found == buckets_[bucket].end() ? std::nullopt : std::optional(found->second.content);
}

size_t FakeS3::pending_uploads() {
  MutexLock lock(&mutex_);
  return uploads_.size();
}

FakeS3::Object FakeS3::Make(std::string content) { return {std::move(content), absl::StrCat("\"tag-", ++puts_, "\"")}; }

ServedAnswer FakeS3::operator()(const ServedRequest& request) {
  if (auto answer = fault(request)) return *std::move(answer);
  const size_t slash = std::min(request.path.find('/', 1), request.path.size());
  const std::string bucket = request.path.substr(1, slash - 1);
  const std::string key = slash < request.path.size() ? Unescaped(request.path.substr(slash + 1)) : "";
  const auto query = FieldsOfQuery(request.query);
  MutexLock lock(&mutex_);
  const auto there = buckets_.find(bucket);
  if (there == buckets_.end()) return S3Error(404, "NoSuchBucket");
  Bucket& objects = there->second;
  if (key.empty()) return query.contains("uploads") ? ListUploads(bucket) : List(objects, request);
  if (query.contains("uploads") || query.contains("uploadId")) return InParts(bucket, key, request, query);
  const auto found = objects.find(key);
  const std::string tag = found == objects.end() ? "" : found->second.tag;
  if (request.method == "PUT") {
    if (!MayWrite(request, tag)) return S3Error(412, "PreconditionFailed");
    const Object& object = objects[key] = Make(request.body);
    return {.headers = {{"ETag", object.tag}}};
  }
  if (request.method == "DELETE") {
    if (!MayWrite(request, tag)) return S3Error(412, "PreconditionFailed");
    objects.erase(key);
    return {.status = 204};
  }
  if (found == objects.end()) return S3Error(404, "NoSuchKey");
  return Get(found->second, request);
}

ServedAnswer FakeS3::Get(const Object& object, const ServedRequest& request) {
  if (const std::string match = S3HeaderOf(request, "if-match"); !match.empty() && match != object.tag) {
    return S3Error(412, "PreconditionFailed");
  }
  ServedAnswer answer;
  answer.headers = {{"ETag", object.tag}};
  const std::string range = S3HeaderOf(request, "range");
  if (range.empty()) {
    answer.body = object.content;
    return answer;
  }
  size_t first = 0, last = 0;
  const std::pair<std::string, std::string> ends = absl::StrSplit(range.substr(sizeof("bytes=") - 1), '-');
  PS_CHECK(absl::SimpleAtoi(ends.first, &first) && absl::SimpleAtoi(ends.second, &last));
  if (first >= object.content.size()) {
    answer = S3Error(416, "InvalidRange");
    answer.headers = {{"Content-Range", absl::StrCat("bytes */", object.content.size())}, {"ETag", object.tag}};
    return answer;
  }
  last = std::min(last, object.content.size() - 1);
  answer.status = 206;
  answer.headers.emplace_back("Content-Range", absl::StrCat("bytes ", first, "-", last, "/", object.content.size()));
  answer.body = object.content.substr(first, last - first + 1);
  return answer;
}

ServedAnswer FakeS3::InParts(const std::string& bucket, const std::string& key, const ServedRequest& request,
                             std::map<std::string, std::string> query) {
  if (query.contains("uploads")) {
    const std::string id = absl::StrCat("u&", ++puts_);
    uploads_[id] = {bucket, key};
    return {.body = absl::StrCat("<InitiateMultipartUploadResult><UploadId>u&amp;", puts_,
                                 "</UploadId></InitiateMultipartUploadResult>")};
  }
  const auto found = uploads_.find(query["uploadId"]);
  if (found == uploads_.end() || found->second.key != key) return S3Error(404, "NoSuchUpload");
  Upload& upload = found->second;
  if (request.method == "PUT") {
    const Object& part = upload.parts[std::atoi(query["partNumber"].c_str())] = Make(request.body);
    return {.headers = {{"ETag", part.tag}}};
  }
  if (request.method == "DELETE") {
    uploads_.erase(found);
    return {.status = 204};
  }
  std::string whole;
  for (const auto& [number, part] : upload.parts) {
    const std::string named = absl::StrCat("<PartNumber>", number, "</PartNumber><ETag>", part.tag, "</ETag>");
    if (!absl::StrContains(request.body, named)) return S3Error(400, "InvalidPart", named);
    whole += part.content;
  }
  if (!MayWrite(request, buckets_[bucket].contains(key) ? buckets_[bucket][key].tag : "")) {
    return S3Error(412, "PreconditionFailed");
  }
  buckets_[bucket][key] = Make(std::move(whole));
  uploads_.erase(found);
  return {.body = "<CompleteMultipartUploadResult/>"};
}

ServedAnswer FakeS3::ListUploads(const std::string& bucket) {
  ServedAnswer answer{.body = "<ListMultipartUploadsResult>"};
  for (const auto& [id, upload] : uploads_) {
    if (upload.bucket != bucket) continue;
    absl::StrAppend(&answer.body, "<Upload><Key>", upload.key, "</Key><UploadId>u&amp;", id.substr(2),
                    "</UploadId></Upload>");
  }
  answer.body += "</ListMultipartUploadsResult>";
  return answer;
}

ServedAnswer FakeS3::List(const Bucket& bucket, const ServedRequest& request) {
  auto query = FieldsOfQuery(request.query);
  const std::string prefix = query["prefix"], after = query["continuation-token"];
  size_t most = 0;
  if (!absl::SimpleAtoi(query["max-keys"], &most)) most = 1000;
  most = std::min(most, page_entries);
  // Folders and objects in the order of their names, each once.
  std::map<std::string, std::string> entries;
  for (const auto& [key, object] : bucket) {
    if (key.substr(0, prefix.size()) != prefix) continue;
    const size_t slash = key.find('/', prefix.size());
    if (slash != std::string::npos) {
      const std::string folder = key.substr(0, slash + 1);
      entries[folder] = absl::StrCat("<CommonPrefixes><Prefix>", folder, "</Prefix></CommonPrefixes>");
    } else {
      entries[key] =
          absl::StrCat("<Contents><Key>", key, "</Key><ETag>&quot;", object.tag.substr(1, object.tag.size() - 2),
                       "&quot;</ETag><Size>", object.content.size(), "</Size></Contents>");
    }
  }
  ServedAnswer answer;
  std::string last;
  size_t count = 0;
  bool truncated = false;
  for (const auto& [key, xml] : entries) {
    if (!after.empty() && key <= after) continue;
    if (count == most) {
      truncated = true;
      break;
    }
    answer.body += xml;
    last = key;
    ++count;
  }
  answer.body =
      absl::StrCat("<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">",
                   answer.body, "<IsTruncated>", truncated ? "true" : "false", "</IsTruncated>",
                   truncated ? absl::StrCat("<NextContinuationToken>", last, "</NextContinuationToken>") : "",
                   "</ListBucketResult>");
  return answer;
}

}  // namespace penstock::support
