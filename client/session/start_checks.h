// Checks where a reader may start and with which step size. Used for served jobs and for jobs that are read in this
// process.
#ifndef PENSTOCK_CLIENT_SESSION_START_CHECKS_H_
#define PENSTOCK_CLIENT_SESSION_START_CHECKS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "client/assembly/batch_builder.h"
#include "pipeline/plan/data_order.h"
#include "pipeline/plan/state.h"
#include "pipeline/plan/steps.h"

namespace penstock::client {

struct StartCheck {
  std::string job;
  const BatchFormat* format = nullptr;
  uint64_t order_fingerprint = 0;
  uint64_t pipeline_fingerprint = 0;
  bool accept_new_pipeline = false;
  const plan::DataOrder* order = nullptr;
};

// Checks the step size, `start`, and `saved`, the state to resume from, whose place is `start`. If a job mixes rows, it
// mixes them within groups of `mix.group` consecutive rows. No boundary between ranks or batches may split a group. A
// job that continues a blend accepts the state of that blend from which it continues.
//   FailedPrecondition   the state is of another plan or pipeline (the message names the state's fingerprint and the
//                        job's), inside a group of mixed rows, or at a row from which a step would have rows of two
//                        batches whose rows belong together; or the start is before the row from which the job
//                        continues a blend
//   InvalidArgument      the step size splits groups (the message names sizes that do not), or the state is beyond the
//                        end of the epoch
absl::Status CheckStart(const StartCheck& check, const plan::Steps& steps, const plan::Cursor& start,
                        const std::optional<plan::SessionState>& saved);

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_SESSION_START_CHECKS_H_
