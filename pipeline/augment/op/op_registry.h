// The ops that this program has. An op registers itself from its own file:
//
//   const OpRegistration kCenterCropRegistration{"center_crop", MakeCenterCrop};
//
// The file's object is linked even if nothing refers to it (../ops/CMakeLists.txt). All registrations run before main.
// Afterwards the registry is read-only, and any thread may use it.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OP_OP_REGISTRY_H_
#define PENSTOCK_PIPELINE_AUGMENT_OP_OP_REGISTRY_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/augment/op/op.h"

namespace penstock {

// Makes the op and sets its output type. On a mistake, adds at least one error and returns null.
using OpFactory = std::unique_ptr<Op> (*)(const OpSetup& setup, ValueType* output);

// Registers an op; use it at namespace scope. `name` is the op's field in the Op message. Aborts the process if the
// name is already registered.
struct OpRegistration {
  OpRegistration(std::string_view name, OpFactory factory);
};

// Returns the factory of an op, such as "resize", or null if none has this name.
OpFactory FindOp(std::string_view name);

// Returns all names, sorted.
std::vector<std::string> RegisteredOps();

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OP_OP_REGISTRY_H_
