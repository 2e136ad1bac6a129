// HTTP and HTTPS servers of files, with ranges (RFC 9110, section 14).
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_HTTP_HTTP_DIALECT_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_HTTP_HTTP_DIALECT_H_

#include <memory>
#include <string>
#include <utility>

#include "pipeline/storage/object/common/object_dialect.h"
#include "pipeline/storage/object/http/http_authorization.h"

namespace penstock::storage {

// These servers have no reliable listing, so each shard must be named. A key is the text in the URL, including percent
// signs.
class HttpDialect final : public ObjectDialect {
 public:
  // `authorization` is sent to all HTTPS servers. Null: none.
  explicit HttpDialect(std::shared_ptr<HttpAuthorization> authorization = nullptr)
      : authorization_(std::move(authorization)) {}

  HttpRequest Head(const ObjectName& name) override;
  HttpRequest Range(const ObjectName& name, const FileInfo& state, uint64_t offset, uint64_t length) override;
  bool lists() const override { return false; }
  absl::StatusOr<HttpRequest> List(const ObjectName& name, const std::string& page, size_t most) override;
  absl::StatusOr<FileInfo> StateOf(const ObjectName& name, const HttpResponse& response) override;
  absl::StatusOr<ObjectPage> PageOf(const ObjectName& name, const HttpResponse& response) override;
  ObjectError ErrorOf(const ObjectName& name, const HttpResponse& response) override;

 private:
  HttpRequest Request(const ObjectName& name) const;

  const std::shared_ptr<HttpAuthorization> authorization_;
};

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_HTTP_HTTP_DIALECT_H_
