#include "tests/pipeline/augment/op_examples.h"

#include "tests/pipeline/augment/row_maker.h"

namespace penstock::augment {

namespace {

std::vector<OpExample>& Registered() {
  static auto* const examples = new std::vector<OpExample>;
  return *examples;
}

}  // namespace

OpExampleRegistration::OpExampleRegistration(std::initializer_list<OpExample> examples) {
  Registered().insert(Registered().end(), examples.begin(), examples.end());
}

const std::vector<OpExample>& OpExamples() { return Registered(); }

std::vector<std::string> OpNames() {
  std::vector<std::string> names;
  const auto* oneof = v1::Op::descriptor()->FindOneofByName("op");
  for (int i = 0; i < oneof->field_count(); ++i) names.push_back(oneof->field(i)->name());
  return names;
}

v1::JobSpec ExampleJob(const OpExample& example) {
  const std::string op = example.name + " { " + example.text + " }";
  if (example.kind == OpExample::kWorksOnLabels) {
    return ParseJob("features { key: 'image/class/label' column: 'label' type: INT64 }\nops { column: 'label' " + op +
                    " }");
  }
  std::string text = "features { key: 'image/encoded' column: 'image' type: BYTES }\n";
  if (example.name != "decode_image") text += "ops { decode_image { } }\n";
  const std::string size = "ops { resize { height: 57 width: 61 filter: BICUBIC } }\n";
  if (example.kind == OpExample::kLeavesNumbers) return ParseJob(text + size + "ops { " + op + " }");
  return ParseJob(text + "ops { " + op + " }\n" + size + "ops { normalize { preset: '" +
                  (example.text.find("GRAY") == std::string::npos ? "imagenet' } }" : "' mean: 0.4 std: 0.2 } }"));
}

}  // namespace penstock::augment
