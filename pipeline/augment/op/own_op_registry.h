// The inside of own_op.h: what pipelines ask the registry.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OP_OWN_OP_REGISTRY_H_
#define PENSTOCK_PIPELINE_AUGMENT_OP_OWN_OP_REGISTRY_H_

#include <string_view>

#include "base/hash.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/augment/op/own_op.h"

namespace penstock {

// Null when no op of this name is registered. Ops are never taken out again.
const OwnOp* FindOwnOp(std::string_view name);

// Adds name and version of every custom op in `op`, also of those inside others. Adds nothing when there is none.
void AddOwnOpVersions(const v1::Op& op, Fingerprint* fingerprint);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OP_OWN_OP_REGISTRY_H_
