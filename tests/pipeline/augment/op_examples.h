// An example of every op of the schema, so that what holds for all of them can be tried on each.
#ifndef PENSTOCK_TESTS_PIPELINE_AUGMENT_OP_EXAMPLES_H_
#define PENSTOCK_TESTS_PIPELINE_AUGMENT_OP_EXAMPLES_H_

#include <string>
#include <vector>

#include "penstock/v1/job.pb.h"

namespace penstock {

struct OpExample {
  std::string name;  // of the op
  std::string text;  // the fields in its braces
};

// At least one for each op whose name FindOp knows. An op that is new needs an entry here.
const std::vector<OpExample>& OpExamples();

// Names of all ops of the schema.
std::vector<std::string> OpNames();

// A job that decodes (unless the op does) images of any size, applies the op, and ends in numbers of a fixed size. An
// op on labels works on an integer column. One feature: image/encoded, and image/class/label for such an op.
v1::JobSpec ExampleJob(const OpExample& example);

}  // namespace penstock

#endif  // PENSTOCK_TESTS_PIPELINE_AUGMENT_OP_EXAMPLES_H_
