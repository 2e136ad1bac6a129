// What a job's `mix` means for the columns of its rows.
#ifndef PENSTOCK_PIPELINE_BATCH_MIX_PLAN_H_
#define PENSTOCK_PIPELINE_BATCH_MIX_PLAN_H_

#include <cstddef>
#include <cstdint>

#include "pipeline/batch/mix_draw.h"
#include "pipeline/batch/mix_rows.h"
#include "pipeline/batch/row.h"

namespace penstock {

struct MixPlan {
  MixLaw law;
  uint32_t group = 2;
  size_t image = 0, label = 0;  // numbers of the columns
  MixTensors tensors;
  // Labels are integers of this type as rows come, and become float32 [classes]. Else they are soft already.
  bool integer_labels = false;
  DType label_type = DType::kInt64;
  float smoothing = 0;
};

// The columns of the batch: those of the rows, with the label as it is after mixing.
RowSchema MixedSchema(const RowSchema& schema, const MixPlan& plan);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_BATCH_MIX_PLAN_H_
