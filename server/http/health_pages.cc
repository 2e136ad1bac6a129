#include "server/http/health_pages.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock::server {
namespace {

HttpRoute HealthRoute(HealthCheck check, std::chrono::milliseconds timeout) {
  HttpRoute route;
  route.timeout = timeout;
  route.late = absl::StrCat("the daemon's control loop does not answer within ", timeout.count(), " ms");
  route.handler = [check = std::move(check)](const HttpRequest&, const HttpReply& reply) {
    check([reply](const absl::Status& status) {
      HttpAnswer answer;
      answer.status = status.ok() ? 200 : 503;
      answer.body = status.ok() ? "ok\n" : absl::StrCat(status.message(), "\n");
      reply(std::move(answer));
    });
  };
  return route;
}

}  // namespace

void AddHealthPages(HealthChecks checks, HttpRoutes* routes, std::chrono::milliseconds timeout) {
  routes->Add("/healthz", HealthRoute(std::move(checks.alive), timeout));
  routes->Add("/readyz", HealthRoute(std::move(checks.ready), timeout));
}

HealthCheck BothHealthy(HealthCheck first, HealthCheck second) {
  return [first = std::move(first), second = std::move(second)](const HealthDone& done) {
    first([second, done](const absl::Status& status) { status.ok() ? second(done) : done(status); });
  };
}

}  // namespace penstock::server
