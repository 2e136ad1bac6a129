// The ops that this program has. An op puts itself here from its own file:
//
//   const OpRegistration kRegistration{"center_crop", MakeCenterCrop};
//
// Its file's object is linked whether or not something refers to it (../ops/CMakeLists.txt). All registrations are made
// before main; afterwards the registry is only read, by any thread.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OP_OP_REGISTRY_H_
#define PENSTOCK_PIPELINE_AUGMENT_OP_OP_REGISTRY_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/augment/op/op.h"

namespace penstock {

// Makes the op and its output type; or null after at least one error.
using OpFactory = std::unique_ptr<Op> (*)(const OpSetup& setup, ValueType* output);

// At namespace scope. `name` is the op's field in the Op message. Ends the process when the name is taken.
struct OpRegistration {
  OpRegistration(std::string_view name, OpFactory factory);
};

// The factory of an op, such as "resize"; null when none of this name is registered.
OpFactory FindOp(std::string_view name);

// All names, sorted.
std::vector<std::string> RegisteredOps();

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OP_OP_REGISTRY_H_
