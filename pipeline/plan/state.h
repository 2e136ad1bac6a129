// The state of a session: the whole checkpoint of a trainer's input. Batch size, ranks, workers,
// threads, caches and error limits are not in it, so they may change on resume.
#ifndef PENSTOCK_PIPELINE_PLAN_STATE_H_
#define PENSTOCK_PIPELINE_PLAN_STATE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/plan/epoch_plan.h"
#include "pipeline/plan/steps.h"

namespace penstock {

constexpr uint32_t kStateVersion = 1;

struct SessionState {
  uint32_t version = kStateVersion;
  uint64_t epoch = 0;
  uint64_t position = 0;  // the first position that was not delivered
  uint64_t order_fingerprint = 0;
  uint64_t pipeline_fingerprint = 0;
  Cursor cursor() const { return {epoch, position}; }
  bool operator==(const SessionState&) const = default;
};

// Two jobs of one order fingerprint have the same record at every position of every epoch, and the
// same draws' seed.
uint64_t OrderFingerprint(uint64_t snapshot_fingerprint, const PlanOptions& options,
                          uint32_t plan_version = kPlanVersion);

// One line of text, the same in every release of this state version:
//   penstock-state version=1 epoch=3 position=51200 order=00c5...(16 hex digits) pipeline=9e1f...
std::string SerializeState(const SessionState& state);

// The inverse; a newline at the end is allowed, nothing else is. InvalidArgument says what is wrong
// and where; FailedPrecondition: a state version that this release does not know.
absl::StatusOr<SessionState> ParseState(std::string_view text);

// Whether a session with `current`'s fingerprints may go on from `saved`.
//   OK                   the rest is what the uninterrupted session would have given (with
//                        accept_new_pipeline: the same records in the same order, made by the pipeline of today)
//   FailedPrecondition   names which fingerprint differs, prints both values, and says the way out
absl::Status CheckResume(const SessionState& saved, const SessionState& current, bool accept_new_pipeline);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_PLAN_STATE_H_
