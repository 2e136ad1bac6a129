// A job's `mix`, resolved for the columns of its rows.
#ifndef PENSTOCK_PIPELINE_BATCH_MIX_PLAN_H_
#define PENSTOCK_PIPELINE_BATCH_MIX_PLAN_H_

#include <cstddef>
#include <cstdint>

#include "pipeline/batch/mix_draw.h"
#include "pipeline/batch/mix_rows.h"
#include "pipeline/batch/row.h"

namespace penstock::batch {

struct MixPlan {
  MixLaw law;
  uint32_t group = 2;
  size_t image = 0, label = 0;  // column indices
  MixTensors tensors;
  // Whether the rows' labels are integers of label_type, which mixing converts to float32 [classes]. Otherwise they are
  // soft labels already.
  bool integer_labels = false;
  DType label_type = DType::kInt64;
  float smoothing = 0;
};

// Returns the columns of the batch: the columns of the rows, with the type and shape of the label after mixing.
RowSchema MixedSchema(const RowSchema& schema, const MixPlan& plan);

}  // namespace penstock::batch

#endif  // PENSTOCK_PIPELINE_BATCH_MIX_PLAN_H_
