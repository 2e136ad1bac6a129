// Converts a job file's `mix` to a MixPlan. Separate from the arithmetic of the mix, which does not depend on protobuf.
#ifndef PENSTOCK_PIPELINE_BATCH_MIX_JOB_H_
#define PENSTOCK_PIPELINE_BATCH_MIX_JOB_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/batch/mix_plan.h"
#include "pipeline/batch/row.h"

namespace penstock::batch {

constexpr uint32_t kDefaultMixGroup = 2;
// Return the names of the columns that a mix uses, with job.proto's defaults.
std::string MixImageColumn(const v1::Mix& mix);
std::string MixLabelColumn(const v1::Mix& mix);

// Returns the mistakes that depend on the columns of the rows, each "mix.FIELD: MESSAGE". config/mix_check.h checks
// numbers that do not depend on columns.
std::vector<std::string> CheckMixColumns(const v1::Mix& mix, const RowSchema& schema);

// Returns the columns of a job's batches as trainers receive them: the columns of its rows, with the type and shape of
// the label after mixing. Returns InvalidArgument like MakeMixPlan.
absl::StatusOr<RowSchema> BatchSchemaOf(const v1::JobSpec& job, const RowSchema& rows);

// Returns the plan. Returns InvalidArgument with the mistakes of CheckMixColumns, and if an alpha is negative or NaN,
// both are 0, or the group is 1. Group 0 is kDefaultMixGroup. config/mix_check.h has the upper limits.
absl::StatusOr<MixPlan> MakeMixPlan(const v1::Mix& mix, const RowSchema& schema);

}  // namespace penstock::batch

#endif  // PENSTOCK_PIPELINE_BATCH_MIX_JOB_H_
