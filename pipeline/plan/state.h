// The state of a session: the complete checkpoint of a trainer's input. It excludes batch size, ranks, workers,
// threads, caches and error limits, so these may change on resume.
#ifndef PENSTOCK_PIPELINE_PLAN_STATE_H_
#define PENSTOCK_PIPELINE_PLAN_STATE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/plan/epoch_plan.h"
#include "pipeline/plan/steps.h"

namespace penstock::plan {

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

// Returns a fingerprint of the order. Two jobs with the same fingerprint have the same record at every position of
// every epoch, and the same seed for draws.
uint64_t OrderFingerprint(uint64_t snapshot_fingerprint, const PlanOptions& options,
                          uint32_t plan_version = kPlanVersion);

// Returns one line of text, the same in every release with this state version:
//   penstock-state version=1 epoch=3 position=51200 order=00c5...(16 hex digits) pipeline=9e1f...
std::string SerializeState(const SessionState& state);

// The inverse of SerializeState. Accepts one trailing newline. Returns InvalidArgument with the error and its place, or
// FailedPrecondition for a state version that this release does not support.
absl::StatusOr<SessionState> ParseState(std::string_view text);

// Returns whether a session with `current`'s fingerprints may resume from `saved`.
//   OK                   the remaining rows are those of the uninterrupted session (with accept_new_pipeline: the
//                        same records in the same order, made by the current pipeline)
//   FailedPrecondition   names the fingerprint or state version that differs, both values, and the remedy
absl::Status CheckResume(const SessionState& saved, const SessionState& current, bool accept_new_pipeline);

// Returns whether `status` is an error of CheckResume().
bool IsResumeError(const absl::Status& status);

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_STATE_H_
