// Own ops: C++ that users link into penstockd and penstock without a change to Penstock's files. A job uses one by its
// registered name:
//
//   ops { custom { op: "vignette" numbers { key: "strength" value: 0.5 } } }
//
// See docs/own-ops.md for a guide and examples/own_op for a complete example. An Op (op.h) processes one row. It may
// work on pixels (../ops/common/pixel_op.h), on an image that is not decoded yet (../value/lazy_image.h), or on any
// tensor. It must take all random numbers from OpContext::random.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OP_OWN_OP_H_
#define PENSTOCK_PIPELINE_AUGMENT_OP_OWN_OP_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "pipeline/augment/op/op.h"

namespace penstock {

// The input of an own op's factory when a pipeline is built: the column's type at this point and the job's parameters,
// which are declared and within their bounds.
class OwnOpSetup {
 public:
  virtual ~OwnOpSetup() = default;

  virtual const ValueType& input() const = 0;
  // Returns the job's value of a declared parameter, or its default. Aborts the process if `name` is not declared.
  virtual double Number(std::string_view name) const = 0;
  virtual const std::string& Text(std::string_view name) const = 0;

  // Rejects the job with "ops[2].custom.PARAMETER: MESSAGE"; "" stands for the op as a whole. A factory that calls one
  // of these functions must return null.
  virtual void Error(std::string_view parameter, std::string_view message) const = 0;
  // Rejects an input that the op does not support. `wanted` names the supported input, such as "a uint8 image".
  virtual void WrongInput(std::string_view wanted) const = 0;
};

// Makes the op and sets *output to the type of its result. On a mistake, reports at least one error and returns null.
// The setup is destroyed afterwards, so the op must copy its values.
using OwnOpFactory = std::unique_ptr<Op> (*)(const OwnOpSetup& setup, ValueType* output);

struct OwnOp {
  struct Number {
    std::string name;
    double otherwise = 0;  // the default
    double min = -1e300, max = 1e300;
  };
  struct Text {
    std::string name;
    std::string otherwise;
    std::vector<std::string> choices;  // allowed values; empty: any
  };

  std::string name;  // letters, digits, '_', '-' and '.'
  // Change the version whenever the op gives other bytes. Name and version are part of the pipeline's fingerprint, so
  // that a saved state does not continue with other pixels. They are also part of a worker's conformance digest, so
  // that a job runs on workers with the same own ops.
  std::string version;
  std::vector<Number> numbers = {};
  std::vector<Text> texts = {};
  OwnOpFactory make = nullptr;
};

// Makes `op` available to every pipeline that this process builds afterwards. Thread-safe. Returns InvalidArgument for
// an invalid name, a missing version or factory, a duplicate parameter, or a default outside its bounds or choices.
// Returns AlreadyExists if an op has this name.
absl::Status RegisterOwnOp(OwnOp op);

struct OwnOpVersion {
  std::string name, version;
};
// Returns the name and version of each registered op, sorted by name. Thread-safe.
std::vector<OwnOpVersion> RegisteredOwnOps();

namespace internal {
struct OwnOpRegistration {
  explicit OwnOpRegistration(OwnOp op);  // aborts the process if RegisterOwnOp fails
};
}  // namespace internal

// Registers an op before main. Use it at namespace scope of a .cc file: PENSTOCK_REGISTER_OP({.name = "vignette",
// ...});
#define PENSTOCK_REGISTER_OP(...) PENSTOCK_REGISTER_OP_AT(__COUNTER__, __VA_ARGS__)
#define PENSTOCK_REGISTER_OP_AT(number, ...) PENSTOCK_REGISTER_OP_NAMED(number, __VA_ARGS__)
#define PENSTOCK_REGISTER_OP_NAMED(number, ...) \
  static const ::penstock::internal::OwnOpRegistration kPenstockOwnOp##number(::penstock::OwnOp __VA_ARGS__)

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OP_OWN_OP_H_
