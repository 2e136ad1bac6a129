// Plain HTTP and HTTPS servers that have files, with ranges (RFC 9110, section 14).
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_HTTP_DIALECT_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_HTTP_DIALECT_H_

#include <string>

#include "pipeline/storage/object/object_dialect.h"

namespace penstock {

// They have no listing that could be relied on: shards are named one by one. A key is what stands in the URL, percent
// signs included.
class HttpDialect final : public ObjectDialect {
 public:
  // `authorization`: a header's value that is sent to all servers of HTTPS ("Bearer ..."); empty: none.
  explicit HttpDialect(std::string authorization = "") : authorization_(std::move(authorization)) {}

  HttpRequest Head(const ObjectName& name) override;
  HttpRequest Range(const ObjectName& name, const FileInfo& state, uint64_t offset, uint64_t length) override;
  absl::StatusOr<HttpRequest> List(const ObjectName& name, const std::string& page, size_t most) override;
  absl::StatusOr<FileInfo> StateOf(const ObjectName& name, const HttpResponse& response) override;
  absl::StatusOr<ObjectPage> PageOf(const ObjectName& name, const HttpResponse& response) override;
  ObjectError ErrorOf(const ObjectName& name, const HttpResponse& response) override;

 private:
  HttpRequest Request(const ObjectName& name) const;

  const std::string authorization_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_HTTP_DIALECT_H_
