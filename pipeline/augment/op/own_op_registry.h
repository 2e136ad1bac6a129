// Functions on registered own ops (own_op.h) that only pipelines use.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OP_OWN_OP_REGISTRY_H_
#define PENSTOCK_PIPELINE_AUGMENT_OP_OWN_OP_REGISTRY_H_

#include <string_view>

#include "base/hash.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/augment/op/own_op.h"

namespace penstock {

// Returns the op of this name, or null. Registered ops are never removed. Thread-safe.
const OwnOp* FindOwnOp(std::string_view name);

// Adds the name and version of every custom op in `op`, including inner ops.
void AddOwnOpVersions(const v1::Op& op, Fingerprint* fingerprint);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OP_OWN_OP_REGISTRY_H_
