// The place from which a blend continues another one: made from a state, and checked when the job freezes its data.
#ifndef PENSTOCK_PIPELINE_SOURCES_BLEND_START_H_
#define PENSTOCK_PIPELINE_SOURCES_BLEND_START_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/plan/data_order.h"
#include "pipeline/plan/state.h"
#include "pipeline/sources/snapshot.h"

namespace penstock::sources {

// Returns the start of a blend that continues `job` at `state`. `snapshot` and `order` are those of `job`. Returns
// FailedPrecondition if the state is of another order, if the job's data sets have no names, or if the state is before
// the job's own start.
absl::StatusOr<v1::BlendStart> MakeBlendStart(const v1::JobSpec& job, const Snapshot& snapshot,
                                              const plan::DataOrder& order, const plan::SessionState& state);

// Returns FailedPrecondition, with the name of the data set, if a data set of a job that continues a blend has other
// records, or another order of them, than in that blend.
absl::Status CheckBlendStart(const v1::JobSpec& job, const Snapshot& snapshot, const plan::DataOrder& order);

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_BLEND_START_H_
