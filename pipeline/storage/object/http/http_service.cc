#include "pipeline/storage/object/http/http_service.h"

#include <utility>

#include "pipeline/storage/object/http/http_dialect.h"

namespace penstock::storage {
namespace {

class HttpService final : public ObjectService {
 public:
  explicit HttpService(std::shared_ptr<HttpAuthorization> authorization) : dialect_(std::move(authorization)) {}

  ObjectDialect* dialect() override { return &dialect_; }

 private:
  HttpDialect dialect_;
};

}  // namespace

std::unique_ptr<ObjectService> MakeHttpService(std::shared_ptr<HttpAuthorization> authorization) {
  return std::make_unique<HttpService>(std::move(authorization));
}

}  // namespace penstock::storage
