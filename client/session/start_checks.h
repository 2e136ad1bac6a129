// Where a reader may begin, and with which steps: the same for a job that is served and for one that is read here.
#ifndef PENSTOCK_CLIENT_SESSION_START_CHECKS_H_
#define PENSTOCK_CLIENT_SESSION_START_CHECKS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "client/assembly/batch_builder.h"
#include "pipeline/plan/state.h"
#include "pipeline/plan/steps.h"

namespace penstock {

struct StartCheck {
  std::string job;
  const BatchFormat* format = nullptr;
  uint64_t order_fingerprint = 0;
  uint64_t pipeline_fingerprint = 0;
  bool accept_new_pipeline = false;
};

// Rows are mixed in aligned groups, which no border between ranks or batches may cut: InvalidArgument says which batch
// sizes leave them whole. `saved`: the state to go on from, if there is one.
//   FailedPrecondition   it is of another plan or pipeline (both values are named), or inside a group of mixed rows
//   InvalidArgument      it lies beyond the epoch
absl::Status CheckStart(const StartCheck& check, const Steps& steps, const std::optional<SessionState>& saved);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SESSION_START_CHECKS_H_
