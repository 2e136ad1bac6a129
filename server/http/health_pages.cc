#include "server/http/health_pages.h"

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"

namespace penstock::server {
namespace {

HttpRoute HealthRoute(HealthCheck check, std::chrono::milliseconds timeout) {
  HttpRoute route;
  route.timeout = timeout;
  route.late = absl::StrCat("the daemon's control loop does not answer within ", timeout.count(), " ms");
  route.open = true;  // kubelets have no token
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

// Joins the results of two checks, which may arrive on two threads.
class BothResults {
 public:
  explicit BothResults(HealthDone done) : done_(std::move(done)) {}

  void Set(size_t index, const absl::Status& status) {
    std::optional<absl::Status> both;
    {
      MutexLock lock(&mutex_);
      results_[index] = status;
      if (!results_[0].has_value()) return;
      both = results_[0]->ok() ? results_[1] : results_[0];
    }
    if (both.has_value()) done_(*both);
  }

 private:
  const HealthDone done_;
  Mutex mutex_;
  std::array<std::optional<absl::Status>, 2> results_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

void AddHealthPages(HealthChecks checks, HttpRoutes* routes, std::chrono::milliseconds timeout) {
  routes->Add("/healthz", HealthRoute(std::move(checks.alive), timeout));
  routes->Add("/readyz", HealthRoute(std::move(checks.ready), timeout));
}

HealthCheck BothHealthy(HealthCheck first, HealthCheck second) {
  return [first = std::move(first), second = std::move(second)](const HealthDone& done) {
    const auto both = std::make_shared<BothResults>(done);
    first([both](const absl::Status& status) { both->Set(0, status); });
    second([both](const absl::Status& status) { both->Set(1, status); });
  };
}

}  // namespace penstock::server
