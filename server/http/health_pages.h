// /healthz and /readyz: whether the daemon lives, and whether it serves. An answer has only "ok" or the reason.
#ifndef PENSTOCK_SERVER_HTTP_HEALTH_PAGES_H_
#define PENSTOCK_SERVER_HTTP_HEALTH_PAGES_H_

#include <chrono>
#include <functional>

#include "absl/status/status.h"
#include "server/http/http_message.h"

namespace penstock::server {

using HealthDone = std::function<void(absl::Status)>;

// Calls `done` with OK, or with an error whose message is the reason in words. Must not block. May call `done` later
// and on any thread, or never: the page then states that the control loop does not answer. Calls after the first have
// no effect.
using HealthCheck = std::function<void(HealthDone done)>;

struct HealthChecks {
  HealthCheck alive;  // fails only if a restart of the process is the remedy
  HealthCheck ready;  // fails while others should not send requests to this daemon
};

// Time for a check. Shorter than the 2 s of `penstock health`, so that a probe gets the reason.
inline constexpr std::chrono::milliseconds kHealthTimeout = std::chrono::milliseconds(1500);

// Adds /healthz and /readyz: 200 with "ok", or 503 with the reason.
void AddHealthPages(HealthChecks checks, HttpRoutes* routes, std::chrono::milliseconds timeout = kHealthTimeout);

// Returns a check that succeeds if both succeed, and otherwise has the reason of `first`, if it fails, or of `second`.
// Starts both at once, on the caller's thread, so that none starts after the server has stopped.
HealthCheck BothHealthy(HealthCheck first, HealthCheck second);

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_HTTP_HEALTH_PAGES_H_
