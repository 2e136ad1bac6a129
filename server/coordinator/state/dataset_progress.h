// The progress of the data sets of a blend, for the status. Pure.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_DATASET_PROGRESS_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_DATASET_PROGRESS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "penstock/v1/control.pb.h"
#include "pipeline/plan/data_order.h"
#include "pipeline/plan/steps.h"
#include "server/coordinator/state/session_table.h"

namespace penstock::coordinator {

// Data sets of a job in the status of all jobs, and series of a job in the metrics.
constexpr size_t kShownDatasets = 20;
constexpr size_t kMeasuredDatasets = 100;
constexpr size_t kAllDatasets = std::numeric_limits<size_t>::max();

// Returns the cursor that each rank of a run has passed, or nullopt without sessions. The ranks of a run have the same
// group and world size. A reader without other ranks is a run of its own. With several runs, the cursor is that of the
// furthest.
std::optional<plan::Cursor> PassedByARun(const std::vector<const SessionEntry*>& sessions);

// Sets `datasets`, `datasets_total` and `blend_rows` at the cursor, with the `most` largest data sets.
void AddDatasets(const plan::DataOrder& blend, const std::optional<plan::Cursor>& cursor, size_t most,
                 v1::StatusReply::JobStatus* status);

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_DATASET_PROGRESS_H_
