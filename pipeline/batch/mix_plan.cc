#include "pipeline/batch/mix_plan.h"

namespace penstock::batch {

RowSchema MixedSchema(const RowSchema& schema, const MixPlan& plan) {
  RowSchema mixed = schema;
  if (plan.integer_labels) {
    mixed.columns[plan.label].dtype = DType::kFloat32;
    mixed.columns[plan.label].shape = {static_cast<int64_t>(plan.tensors.classes)};
  }
  return mixed;
}

}  // namespace penstock::batch
