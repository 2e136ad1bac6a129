// An example of every op of the schema, so that what holds for all of them can be tried on each.
#ifndef PENSTOCK_TESTS_PIPELINE_AUGMENT_OP_EXAMPLES_H_
#define PENSTOCK_TESTS_PIPELINE_AUGMENT_OP_EXAMPLES_H_

#include <initializer_list>
#include <string>
#include <vector>

#include "penstock/v1/job.pb.h"

namespace penstock {

struct OpExample {
  enum Kind {
    kKeepsImage,     // image to image
    kLeavesNumbers,  // ends the image
    kWorksOnLabels,  // an integer
  };
  std::string name;  // of the op
  std::string text;  // the fields in its braces
  Kind kind = kKeepsImage;
};

// An op's test says its examples with one of these at namespace scope: at least one for each op.
struct OpExampleRegistration {
  OpExampleRegistration(std::initializer_list<OpExample> examples);
};

// All that the program's tests said.
const std::vector<OpExample>& OpExamples();

// Names of all ops of the schema.
std::vector<std::string> OpNames();

// A job that decodes (unless the op does) images of any size, applies the op, and ends in numbers of a fixed size. An
// op on labels works on an integer column. One feature: image/encoded, and image/class/label for such an op.
v1::JobSpec ExampleJob(const OpExample& example);

}  // namespace penstock

#endif  // PENSTOCK_TESTS_PIPELINE_AUGMENT_OP_EXAMPLES_H_
