// Examples of every op of the schema, so that a test can try a law of all ops on each.
#ifndef PENSTOCK_TESTS_PIPELINE_AUGMENT_OP_EXAMPLES_H_
#define PENSTOCK_TESTS_PIPELINE_AUGMENT_OP_EXAMPLES_H_

#include <initializer_list>
#include <string>
#include <vector>

#include "penstock/v1/job.pb.h"

namespace penstock::augment {

struct OpExample {
  enum Kind {
    kKeepsImage,     // image to image
    kLeavesNumbers,  // ends the image
    kWorksOnLabels,  // an integer
  };
  std::string name;  // the op's name
  std::string text;  // the fields in its braces
  Kind kind = kKeepsImage;
};

// Adds the examples of an op. The op's test has one at namespace scope, with at least one example.
struct OpExampleRegistration {
  OpExampleRegistration(std::initializer_list<OpExample> examples);
};

// All examples that the program's tests registered.
const std::vector<OpExample>& OpExamples();

// Names of all ops of the schema.
std::vector<std::string> OpNames();

// A job that decodes images of any size (unless the op does), applies the op, and ends in numbers of a fixed size. An
// op on labels works on an integer column. The only feature is image/encoded, or image/class/label for an op on labels.
v1::JobSpec ExampleJob(const OpExample& example);

}  // namespace penstock::augment

#endif  // PENSTOCK_TESTS_PIPELINE_AUGMENT_OP_EXAMPLES_H_
