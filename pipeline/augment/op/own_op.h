// Ops of one's own: C++ that is linked into penstockd and penstock without a change to Penstock's files. A job calls
// one by its registered name:
//
//   ops { custom { op: "vignette" numbers { key: "strength" value: 0.5 } } }
//
// docs/own-ops.md is the guide, examples/own_op a whole example. What an op does for one row is an Op (op.h): it may
// work on pixels (../ops/common/pixel_op.h), on an image that is not decoded yet (../value/lazy_image.h), or on any
// tensor, and its random draws are OpContext::random and nothing else.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OP_OWN_OP_H_
#define PENSTOCK_PIPELINE_AUGMENT_OP_OWN_OP_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "pipeline/augment/op/op.h"

namespace penstock {

// What an own op's factory sees, when a pipeline is built: the column's type at this place and the job's parameters,
// which are declared ones and within their bounds.
class OwnOpSetup {
 public:
  virtual ~OwnOpSetup() = default;

  virtual const ValueType& input() const = 0;
  // The job's value of a declared parameter, or its default. Ends the process when `name` is not declared.
  virtual double Number(std::string_view name) const = 0;
  virtual const std::string& Text(std::string_view name) const = 0;

  // Refuses the job with "ops[2].custom.PARAMETER: MESSAGE"; "" is the op as a whole. A factory that calls one of
  // these returns null.
  virtual void Error(std::string_view parameter, std::string_view message) const = 0;
  // As above, for an input that the op cannot work on: `wanted` says on what it can, such as "a uint8 image".
  virtual void WrongInput(std::string_view wanted) const = 0;
};

// Makes the op and sets *output to the type that it leaves; or null after at least one error. The setup is gone
// afterwards: the op keeps copies.
using OwnOpFactory = std::unique_ptr<Op> (*)(const OwnOpSetup& setup, ValueType* output);

struct OwnOp {
  struct Number {
    std::string name;
    double otherwise = 0;  // where the job gives none
    double min = -1e300, max = 1e300;
  };
  struct Text {
    std::string name;
    std::string otherwise;
    std::vector<std::string> choices;  // empty: any
  };

  std::string name;  // letters, digits, '_', '-' and '.'
  // Change it whenever the op comes to give other bytes. Name and version are part of the pipeline's fingerprint, so
  // that a saved state is not continued with other pixels, and of a worker's conformance digest, so that a job runs
  // on workers with the same own ops.
  std::string version;
  std::vector<Number> numbers = {};
  std::vector<Text> texts = {};
  OwnOpFactory make = nullptr;
};

// Makes `op` known to every pipeline that this process builds afterwards. Thread-safe. InvalidArgument: no name, no
// version, no factory, a parameter twice, a default outside its bounds. AlreadyExists: an op of this name.
absl::Status RegisterOwnOp(OwnOp op);

// Name and version of each registered op, in the order of names.
struct OwnOpVersion {
  std::string name, version;
};
std::vector<OwnOpVersion> RegisteredOwnOps();

namespace internal {
struct OwnOpRegistration {
  explicit OwnOpRegistration(OwnOp op);  // ends the process when RegisterOwnOp refuses
};
}  // namespace internal

// At namespace scope of a .cc file; registers before main:  PENSTOCK_REGISTER_OP({.name = "vignette", ...});
#define PENSTOCK_REGISTER_OP(...) PENSTOCK_REGISTER_OP_AT(__COUNTER__, __VA_ARGS__)
#define PENSTOCK_REGISTER_OP_AT(number, ...) PENSTOCK_REGISTER_OP_NAMED(number, __VA_ARGS__)
#define PENSTOCK_REGISTER_OP_NAMED(number, ...) \
  static const ::penstock::internal::OwnOpRegistration kPenstockOwnOp##number(::penstock::OwnOp __VA_ARGS__)

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OP_OWN_OP_H_
