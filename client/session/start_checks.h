// Checks where a reader may start and with which step size. Used for served jobs and for jobs that are read in this
// process.
#ifndef PENSTOCK_CLIENT_SESSION_START_CHECKS_H_
#define PENSTOCK_CLIENT_SESSION_START_CHECKS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "client/assembly/batch_builder.h"
#include "pipeline/plan/state.h"
#include "pipeline/plan/steps.h"

namespace penstock::client {

struct StartCheck {
  std::string job;
  const BatchFormat* format = nullptr;
  uint64_t order_fingerprint = 0;
  uint64_t pipeline_fingerprint = 0;
  bool accept_new_pipeline = false;
  uint64_t single_batch = 0;  // DataOrder::single_batch()
};

// Checks the step size and `saved`, the state to resume from. If a job mixes rows, it mixes them within groups of
// `mix.group` consecutive rows. No boundary between ranks or batches may split a group.
//   FailedPrecondition   the state is of another plan or pipeline (the message names the state's fingerprint and the
//                        job's), inside a group of mixed rows, or at a row from which a step would have rows of two
//                        batches whose rows belong together
//   InvalidArgument      the step size splits groups (the message names sizes that do not), or the state is beyond the
//                        end of the epoch
absl::Status CheckStart(const StartCheck& check, const plan::Steps& steps,
                        const std::optional<plan::SessionState>& saved);

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_SESSION_START_CHECKS_H_
