// Opening a session: from the caller's options to a job that is ready, a place in it, and a view to begin with.
#ifndef PENSTOCK_CLIENT_SESSION_OPEN_H_
#define PENSTOCK_CLIENT_SESSION_OPEN_H_

#include <memory>

#include "absl/status/statusor.h"
#include "client/session/session.h"
#include "penstock/client.h"

namespace penstock {

struct OpenedSession {
  JobInfo job;
  Steps steps;
  SessionOptions options;
  std::shared_ptr<CoordinatorClient> coordinator;
  std::shared_ptr<const View> view;
};

// Waits for the coordinator, the job and a worker, within connect.open_timeout. Errors as Reader::Open says them.
absl::StatusOr<OpenedSession> OpenSession(const ConnectOptions& connect, const ReaderOptions& options);

// How many steps are booked ahead: as many as fit both limits, at least 2.
uint64_t WindowSteps(uint64_t prefetch_steps, uint64_t prefetch_bytes, uint64_t step_bytes);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SESSION_OPEN_H_
