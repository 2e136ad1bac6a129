// A job file's `mix` in the arithmetic's own terms. Apart from that, which knows no protobuf.
#ifndef PENSTOCK_PIPELINE_BATCH_MIX_JOB_H_
#define PENSTOCK_PIPELINE_BATCH_MIX_JOB_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/batch/mix_plan.h"
#include "pipeline/batch/row.h"

namespace penstock {

constexpr uint32_t kDefaultMixGroup = 2;
// The columns that a mix is about, with job.proto's defaults.
std::string MixImageColumn(const v1::Mix& mix);
std::string MixLabelColumn(const v1::Mix& mix);

// Mistakes of a mix in view of the rows' columns, each "mix.FIELD: MESSAGE". Numbers that need no columns are
// config/mix_check.h's matter.
std::vector<std::string> CheckMixColumns(const v1::Mix& mix, const RowSchema& schema);

// The columns of a job's batches, as trainers get them: those of its rows, with the label as it is after mixing.
// InvalidArgument as MakeMixPlan.
absl::StatusOr<RowSchema> BatchSchemaOf(const v1::JobSpec& job, const RowSchema& rows);

// InvalidArgument with those mistakes.
absl::StatusOr<MixPlan> MakeMixPlan(const v1::Mix& mix, const RowSchema& schema);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_BATCH_MIX_JOB_H_
